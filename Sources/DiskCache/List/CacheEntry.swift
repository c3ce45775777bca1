import CLinux
import Glibc

/// A listed file or directory of a cache.
public struct CacheEntry: Sendable {
    /// The path below the directory of the images: an image's file name.
    public let path: String
    /// In bytes.
    public let size: Int
    /// Occupied bytes; the size rounded up to 4096 if the file system does not report them.
    public let allocated: Int
    /// The last read. Larder and SDWebImage set this time themselves.
    public let accessed: Timestamp
    /// The last change of the contents.
    public let modified: Timestamp
    /// The last change of contents, name or attributes.
    public let changed: Timestamp
    /// `modified` if the file system does not record creation.
    public let created: Timestamp
    /// Whether it is a directory.
    public let isDirectory: Bool
    /// Whether its name, or a directory's above it, begins with a dot.
    public let isHidden: Bool
    /// The number of hard links.
    public let links: Int
    /// False if the name is not UTF-8: `path` then has replacement characters and cannot be opened.
    let isPathExact: Bool

    /// A file of a store without inodes.
    ///
    /// - Parameters:
    ///   - path: below the cache's root.
    ///   - size: in bytes, also used as the occupied bytes.
    ///   - modified: when its bytes were written.
    ///   - accessed: `modified` by default.
    public init(path: String, size: Int, modified: Timestamp, accessed: Timestamp? = nil) {
        self.path = path
        self.size = size
        allocated = size
        self.accessed = accessed ?? modified
        self.modified = modified
        changed = modified
        created = modified
        isDirectory = false
        isHidden = false
        links = 1
        isPathExact = true
    }

    init(path: String, isPathExact: Bool = true, isHidden: Bool, _ status: larder_entry) {
        self.path = path
        self.isPathExact = isPathExact
        self.isHidden = isHidden
        size = Int(status.size)
        allocated = status.allocated > 0 ? Int(status.allocated) : (Int(status.size) + 4095) / 4096 * 4096
        accessed = Timestamp(nanoseconds: status.accessed)
        modified = Timestamp(nanoseconds: status.modified)
        changed = Timestamp(nanoseconds: status.changed)
        created = Timestamp(nanoseconds: status.created)
        isDirectory = status.mode & S_IFMT == S_IFDIR
        links = Int(status.links)
    }

    func date(_ kind: ExpiryPolicy.DateKind) -> Timestamp {
        switch kind {
        case .access: accessed
        case .modification: modified
        case .creation: created
        case .change: changed
        }
    }
}
