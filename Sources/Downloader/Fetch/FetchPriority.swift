/// How urgent a download is among those that wait (SDWebImage 5.21.5, SDWebImageDownloaderHighPriority and LowPriority).
package enum FetchPriority: Int, Sendable, Hashable, Comparable, CaseIterable {
    case low = -4
    case normal = 0
    case high = 4

    package static func < (a: FetchPriority, b: FetchPriority) -> Bool { a.rawValue < b.rawValue }
}

/// In which order waiting downloads start (SDWebImage 5.21.5, SDWebImageDownloaderExecutionOrder).
public enum ExecutionOrder: Int, Sendable {
    /// Higher priority first, among equals the one that asked first.
    case fifo = 0
    /// The newest first, whatever its priority.
    case lifo = 1
}
