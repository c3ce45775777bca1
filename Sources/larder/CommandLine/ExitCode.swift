import Worker

/// When several apply, the first of this list is used.
enum ExitCode: Int32, Sendable {
    case wrongUsage = 2
    case timeLimitReached = 3
    case onlyLaterWorkLeft = 4
    case failed = 1
    case done = 0

    /// What each code says, by number, for the help and the man pages.
    static let meanings: [(code: Int32, meaning: String)] = [
        (done.rawValue, "done"), (failed.rawValue, "failed"), (wrongUsage.rawValue, "wrong usage"),
        (timeLimitReached.rawValue, "time limit reached with work left"),
        (onlyLaterWorkLeft.rawValue, "only later work left"),
    ]
}

extension ExitCode {
    /// The exit code of `run` and `work`.
    ///
    /// - Parameter someFailed: whether an item failed, or is left without a requested shutdown.
    init(_ summary: PrefetchWorker.Summary, someFailed: Bool) {
        switch summary.left {
        // Work is also left after a requested shutdown, or when an operator suspended it.
        case .work where summary.timeIsUp, .later where summary.timeIsUp: self = .timeLimitReached
        case .later: self = .onlyLaterWorkLeft
        case .work, .nothing: self = someFailed ? .failed : .done
        }
    }
}
