/// The files that expiry has deleted so far, or would delete.
public struct ExpiryReport: Hashable, Sendable {
    /// Files and their bytes.
    public struct Count: Hashable, Sendable {
        /// The number of files.
        public var files = 0
        /// Occupied bytes.
        public var bytes = 0

        /// Zero by default.
        public init(files: Int = 0, bytes: Int = 0) {
            self.files = files
            self.bytes = bytes
        }

        mutating func add(_ allocated: Int) {
            files += 1
            bytes += allocated
        }
    }

    /// All files.
    public var seen = Count()
    /// Deleted because of their age.
    public var expiredByAge = Count()
    /// Deleted because of the total size.
    public var expiredBySize = Count()
    /// Expired, but recently used while a process has the store open.
    public var spared = Count()
    /// Expired, but could not be deleted.
    public var failed = Count()
    /// The first failure.
    public var firstFailure: StoreError?
    /// Whether the run was stopped early.
    public var isPartial = false

    /// An empty report.
    public init() {}

    mutating func count(_ file: ExpiredFile) {
        switch file.reason {
        case .age: expiredByAge.add(file.allocated)
        case .size: expiredBySize.add(file.allocated)
        }
    }

    /// The files that remain.
    public var kept: Count {
        Count(
            files: seen.files - expiredByAge.files - expiredBySize.files,
            bytes: seen.bytes - expiredByAge.bytes - expiredBySize.bytes)
    }
}

/// A file deleted by expiry.
public struct ExpiredFile: Sendable {
    /// Why a file expires.
    public enum Reason: String, Sendable {
        /// Older than the policy's age.
        case age
        /// Among the oldest of files that occupy too much.
        case size
    }

    /// The path below the directory of the images.
    public let path: String
    /// Occupied bytes.
    public let allocated: Int
    /// The policy's date.
    public let date: Timestamp
    /// Why it expires.
    public let reason: Reason

    /// Describes a file.
    public init(path: String, allocated: Int, date: Timestamp, reason: Reason) {
        self.path = path
        self.allocated = allocated
        self.date = date
        self.reason = reason
    }
}
