import CLinux
import Glibc

/// One thing in a cache's directory, as it was when it was looked at.
public struct CacheEntry: Sendable {
    /// Below the directory of the namespace: for a picture its file name.
    public let path: String
    /// Its length in bytes.
    public let size: Int
    /// What it takes on the disk in bytes; its length rounded up to 4096 where the file system does not say.
    public let allocated: Int
    /// When it was last read; Larder and SDWebImage set this themselves.
    public let accessed: Timestamp
    /// When its bytes were last written.
    public let modified: Timestamp
    /// When anything of it, its name included, was last changed.
    public let changed: Timestamp
    /// When it was made; `modified` on file systems that do not keep that.
    public let created: Timestamp
    /// Whether it is a directory.
    public let isDirectory: Bool
    /// Whether its name, or that of a directory above it, begins with a dot.
    public let isHidden: Bool
    /// How many names it has.
    public let links: Int
    /// Whether `path` is its name byte for byte: in what is no UTF-8 other characters stand for the bytes that are none, and
    /// a call with that path reaches nothing.
    let isNamedWhole: Bool

    init(path: String, isNamedWhole: Bool = true, isHidden: Bool, _ status: larder_entry) {
        self.path = path
        self.isNamedWhole = isNamedWhole
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

    /// The date that expiry goes by.
    func date(_ kind: ExpiryPolicy.DateKind) -> Timestamp {
        switch kind {
        case .access: accessed
        case .modification: modified
        case .creation: created
        case .change: changed
        }
    }
}
