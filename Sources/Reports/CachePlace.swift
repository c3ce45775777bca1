package import Concurrency
package import DiskCache

/// The cache whose files a report, page or command reads.
package struct CachePlace: Sendable {
    package let store: any ImageStore
    /// A directory cache's paths; nil for a bucket.
    package let paths: CacheLayout?
    /// Runs blocking file operations.
    package let disk = ThreadPool(name: "cache", threads: 1)

    package init(_ store: any ImageStore, paths: CacheLayout? = nil) { (self.store, self.paths) = (store, paths) }
}
