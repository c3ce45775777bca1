import Prefetcher

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
    /// - Parameters:
    ///   - limit: `--max-runtime`, nil without.
    ///   - someFailed: whether an item failed, or is left although nothing told the worker to leave it.
    init(_ summary: PrefetchWorker.Summary, limit: Duration?, someFailed: Bool) {
        switch summary.left {
        // The one place that tells a time limit from other reasons to leave work, such as parked jobs.
        case .work where limit != nil: self = .timeLimitReached
        case .later: self = .onlyLaterWorkLeft
        case .work, .nothing: self = someFailed ? .failed : .done
        }
    }
}
