internal import Concurrency
internal import JobQueue

/// Interrupts database statements that would keep an ending worker waiting.
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
            // Cancelling the worker is an urgent shutdown, which may not be requested yet.
            queue?.end(by: limit.end(.cancel, at: .now, before: end))
        }
    }
}

/// When the statements of an ending worker are interrupted.
struct StopLimit: Sendable {
    /// Time for running attempts after claiming has ended.
    let grace: Duration
    /// Time for the last statements after the grace time or an urgent shutdown.
    let lastStatements: Duration
    /// When claiming ends; nil means never.
    let deadline: ContinuousClock.Instant?

    /// The time limit for this shutdown urgency; nil without shutdown and deadline. Later events only move it forward.
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
