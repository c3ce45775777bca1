/// When several apply, the first of this list is used.
package enum ExitCode: Int32, Sendable {
    case wrongUsage = 2
    case timeLimitReached = 3
    case onlyLaterWorkLeft = 4
    case failed = 1
    case done = 0

    /// What each code says, by number, for the help and the man pages.
    package static let meanings: [(code: Int32, meaning: String)] = [
        (done.rawValue, "done"), (failed.rawValue, "failed"), (wrongUsage.rawValue, "wrong usage"),
        (timeLimitReached.rawValue, "time limit reached with work left"),
        (onlyLaterWorkLeft.rawValue, "only later work left"),
    ]
}
