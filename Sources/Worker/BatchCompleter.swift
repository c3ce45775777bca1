internal import Concurrency
internal import JobQueue

/// Commits the results of attempts together, as `WorkerState` gathers them. A slot is free once its result is
/// committed.
///
/// While the database is unavailable the slots stay in use, so results do not pile up.
struct BatchCompleter: WorkerService {
    let session: WorkerSession
    let state: Locked<WorkerState>
    /// Wakes the claim loop.
    let wake: AsyncEvent
    let observe: @Sendable (WorkerEvent) -> Void
    private let hasResults = AsyncEvent()

    /// Adds the result of an attempt. Its slot is freed after the commit.
    func add(_ result: AttemptResult) {
        if state.withLock({ $0.ended(result, at: .now) }) { hasResults.signal() }
    }

    /// Commits results until cancelled. Jobs with uncommitted results are released when the worker deregisters.
    func run() async {
        while !Task.isCancelled {
            switch state.withLock({ $0.nextCompletionAction(at: .now) }) {
            case .complete(let results): await complete(results)
            case .wait(let limit?): await hasResults.wait(atMost: limit)
            case .wait(nil): await hasResults.wait()
            }
        }
    }

    private func complete(_ results: [AttemptResult]) async {
        var decisions: [CompletionResult.Decision] = []
        var left = results
        do throws(QueueError) {
            try await session.snooze(left.compactMap { result in result.delay.map { (result.outcome.claim, $0) } })
            left.removeAll { $0.delay != nil }
            decisions = try await session.complete(left.map(\.outcome)).map(\.decision)
            for (result, decision) in zip(left, decisions) where decision != .busy {
                if let report = result.report(decision) { observe(.completed(report)) }
            }
            left = zip(left, decisions).filter { $0.1 == .busy }.map(\.0)
        } catch {
            observe(.queueUnavailable(error))
            if !error.isTransient { state.withLock { $0.fail(error) } }
            // The results are sent again. Completing is idempotent, so a repeated result has no further effect.
        }
        state.withLock { [decisions, left] in $0.completed(decisions, left: left, at: .now) }
        wake.signal()
    }
}
