/// What an expiry has done so far, or would do: counts of files, and the bytes that they take on the disk.
public struct ExpiryReport: Hashable, Sendable {
    /// Files, and what they take.
    public struct Count: Hashable, Sendable {
        /// Files.
        public var files = 0
        /// What they take on the disk, in bytes.
        public var bytes = 0

        mutating func add(_ allocated: Int) {
            files += 1
            bytes += allocated
        }
    }

    /// Files that were looked at.
    public var seen = Count()
    /// Deleted because of their age.
    public var aged = Count()
    /// Deleted because all together took too much room.
    public var crowded = Count()
    /// Would have gone, but somebody at work has just stored or read them.
    public var spared = Count()
    /// Could not be deleted.
    public var failed = Count()
    /// The first failure.
    public var firstFailure: StoreError?
    /// Whether it was stopped before its end. What it deleted was due; the next run does the rest.
    public var isPartial = false

    /// Files that are still there.
    public var kept: Count {
        Count(
            files: seen.files - aged.files - crowded.files, bytes: seen.bytes - aged.bytes - crowded.bytes)
    }
}

/// A file that expiry deletes.
public struct ExpiredFile: Sendable {
    /// Why it goes.
    public enum Reason: String, Sendable {
        /// It is too old.
        case age
        /// All together take too much room, and it is among the oldest.
        case size
    }

    /// Below the directory of the namespace.
    public let path: String
    /// What it takes on the disk, in bytes.
    public let allocated: Int
    /// The date that counts.
    public let date: Timestamp
    /// Why it goes.
    public let reason: Reason
}
