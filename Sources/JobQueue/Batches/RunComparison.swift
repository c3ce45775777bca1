/// What changed between two runs of a name: the URLs that both had, and that failed in one of them.
public struct RunComparison: Sendable, Decodable {
    /// How many URLs failed that succeeded in the run before.
    public let newlyFailed: Int
    /// The first of them, by URL, at most ten.
    public let newlyFailedURLs: [String]
    /// How many URLs succeeded that failed in the run before.
    public let fixed: Int
    /// The first of them, by URL, at most ten.
    public let fixedURLs: [String]
}
