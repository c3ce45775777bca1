import Prefetcher
import Worker

/// The exit codes; where several apply, the earlier in this list wins.
enum ExitCode: Int32, Sendable {
    case wrongUsage = 2
    case timeLimitReached = 3
    case onlyLaterWorkLeft = 4
    case failed = 1
    case done = 0
}

extension ExitCode {
    /// How `run` and `work` end.
    ///
    /// - Parameter someFailed: whether an item failed, or is left although nothing told the worker to leave it.
    init(_ summary: PrefetchWorker.Summary, someFailed: Bool) {
        switch summary.left {
        // Work is left for other reasons, too: a stop, or jobs that an operator holds.
        case .work where summary.timeIsUp, .later where summary.timeIsUp: self = .timeLimitReached
        case .later: self = .onlyLaterWorkLeft
        case .work, .nothing: self = someFailed ? .failed : .done
        }
    }
}
