import Concurrency

/// A count's current rate: an exponential average over about ten seconds, so that a pause or burst shows soon.
package struct RecentRate {
    private static let span = 10.0
    private var last: (count: Int, time: ContinuousClock.Instant)?
    private var average = 0.0
    /// The share of `average` that comes from measurements; the rest is its initial zero.
    private var weight = 0.0

    package init() {}

    /// Adds a measurement; nil until there are two of different times.
    package mutating func update(_ count: Int, at now: ContinuousClock.Instant) -> Double? {
        guard let before = last else {
            last = (count, now)
            return nil
        }
        let seconds = Double((now - before.time).milliseconds) / 1000
        guard seconds > 0 else { return weight > 0 ? average / weight : nil }
        last = (count, now)
        let kept = 1 / (1 + seconds / Self.span)
        average = average * kept + Double(count - before.count) / seconds * (1 - kept)
        weight = weight * kept + (1 - kept)
        return average / weight
    }
}
