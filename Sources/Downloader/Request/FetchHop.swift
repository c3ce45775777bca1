/// One request of a download, with its name lookup.
package struct FetchHop: Sendable {
    package let url: SourceURL
    package let start: ContinuousClock.Instant
    package private(set) var end: ContinuousClock.Instant
    /// Nil when the request failed.
    package var status: Int?
    package var timings = FetchTimings()

    init(url: SourceURL, start: ContinuousClock.Instant) { (self.url, self.start, end) = (url, start, start) }

    /// The hop, which ends now.
    func ended() -> FetchHop {
        var hop = self
        hop.end = .now
        return hop
    }
}

/// What a request waits for before it is sent.
package enum FetchWait: Sendable {
    case lookup, connection
}
