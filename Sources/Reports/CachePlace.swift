package import Concurrency
package import DiskCache

/// The cache whose files a report, a page or a command reads.
package struct CachePlace: Sendable {
    package let store: any ImageStore
    /// The paths of a cache in a directory; nil for a bucket.
    package let paths: CacheLayout?
    /// Runs file operations, which block.
    package let disk = ThreadPool(name: "cache", threads: 1)

    package init(_ store: any ImageStore, paths: CacheLayout? = nil) { (self.store, self.paths) = (store, paths) }
}
