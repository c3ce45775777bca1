internal import Concurrency
internal import JobQueue

/// Limits how long statements in flight keep a worker that is to end, however long the database takes to answer.
struct StopLimitService: WorkerService {
    /// Nil without a database, whose statements could take long.
    let queue: PostgresJobQueue?
    let shutdown: ShutdownRequest
    let limit: StopLimit

    func run() async {
        let requested = AsyncEvent()
        await shutdown.signalling(requested) {
            var end: ContinuousClock.Instant?
            while !Task.isCancelled {
                end = limit.end(shutdown.urgency, at: .now, before: end)
                queue?.end(by: end)
                await requested.wait()
            }
            // A cancelled worker ends as after an urgent shutdown, which may not be requested yet.
            queue?.end(by: limit.end(.cancel, at: .now, before: end))
        }
    }
}

/// When the statements of a worker that is to end are broken off. A pure value.
struct StopLimit: Sendable {
    /// How long attempts may run after claiming has ended.
    let grace: Duration
    /// The time for the last statements, after the grace time or an urgent shutdown.
    let lastStatements: Duration
    /// When claiming ends by itself; nil is without limit.
    let deadline: ContinuousClock.Instant?

    /// The time after a shutdown of this urgency; nil without a shutdown and deadline. A later event only moves it
    /// forward.
    func end(
        _ urgency: ShutdownRequest.Urgency, at now: ContinuousClock.Instant, before earlier: ContinuousClock.Instant?
    ) -> ContinuousClock.Instant? {
        let requested: ContinuousClock.Instant? =
            switch urgency {
            case .none: nil
            case .finish: now + grace + lastStatements
            case .cancel: now + lastStatements
            }
        return [requested, deadline.map { $0 + grace + lastStatements }, earlier].compactMap { $0 }.min()
    }
}
