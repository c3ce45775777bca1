/// Where a worker's next claim may begin in each priority: behind what it has claimed itself. Claims of one batch's jobs go
/// by number alone and have one floor, the first.
///
/// A hint that spares the database a walk over rows just claimed, which it must keep as long as anybody's old snapshot
/// may still see them. Forgotten after a second, and as soon as a claim comes back short, so that a job that comes in
/// below (released, retried) waits no longer than that.
struct ClaimCursors: Sendable, Equatable {
    /// How long a floor is believed.
    static let lifetime = Duration.seconds(1)

    private let hasLanes: Bool
    private var numbers: [Int64]
    private var since: ContinuousClock.Instant?

    init(for source: ClaimSource) { self.init(hasLanes: source.onlyBatch == nil) }

    private init(hasLanes: Bool) {
        self.hasLanes = hasLanes
        numbers = [Int64](repeating: 0, count: hasLanes ? 10 : 1)
    }

    /// The floors for a claim now, by priority 0 to 9; nil when there are none.
    func current(now: ContinuousClock.Instant = .now) -> [Int64]? {
        guard let since, now - since < Self.lifetime else { return nil }
        return numbers
    }

    /// Takes note of what a claim for `limit` jobs brought.
    mutating func claimed(_ jobs: [Job], of limit: Int, now: ContinuousClock.Instant = .now) {
        if let since, now - since >= Self.lifetime { self = ClaimCursors(hasLanes: hasLanes) }
        guard jobs.count >= limit else {
            self = ClaimCursors(hasLanes: hasLanes)
            return
        }
        if since == nil { since = now }
        for job in jobs {
            let lane = hasLanes ? job.priority : 0
            if numbers.indices.contains(lane) { numbers[lane] = max(numbers[lane], job.id) }
        }
    }
}
