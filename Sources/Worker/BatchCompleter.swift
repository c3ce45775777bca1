internal import Concurrency
internal import JobQueue

/// Commits the results of attempts together, as `WorkerState` gathers them. A slot is free once its result is
/// committed.
///
/// While the database is unavailable the slots stay in use, so results do not pile up.
struct BatchCompleter: WorkerService {
    let session: WorkerSession
    /// Where the traces of joined items are read; nil when reports have none.
    let traces: PostgresJobQueue?
    let state: Locked<WorkerState>
    /// Wakes the claim loop.
    let wake: AsyncEvent
    let observe: @Sendable (WorkerEvent) -> Void
    private let hasResults = AsyncEvent()

    /// Adds the result of an attempt. Its slot is freed after the commit.
    func add(_ result: AttemptResult) {
        if state.withLock({ $0.ended(result, at: .now) }) { hasResults.signal() }
    }

    /// There are results that `add` did not announce.
    func wakeUp() { hasResults.signal() }

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
        var decisions: [Decision] = []
        var left = results
        let delivery = OutcomeDelivery(complete: session.complete) { [observe] claim, error in
            observe(.resultRefused(job: claim.job, error))
        }
        do throws(QueueError) {
            try await session.snooze(left.compactMap { result in result.delay.map { (result.outcome.claim, $0) } })
            left.removeAll { $0.delay != nil }
            let joined = await joinedTraces(of: left)
            let answers = try await delivery.send(left.map(\.outcome))
            var busy: [AttemptResult] = []
            for (result, answer) in zip(left, answers) {
                switch answer {
                // Not held any more, so that the database gives the job to a worker again.
                case .refused: session.forget(result.outcome.claim)
                case .decided(let decision):
                    decisions.append(decision)
                    if decision == .busy {
                        busy.append(result)
                    } else if let report = result.report(decision, joined: joined[result.job.id] ?? []) {
                        observe(.completed(report))
                    }
                }
            }
            left = busy
        } catch {
            observe(.queueUnavailable(error))
            if !error.isTransient { state.withLock { $0.fail(error) } }
            // The results are sent again. Completing is idempotent, so a repeated result has no further effect.
        }
        state.withLock { [decisions, left] in $0.completed(decisions, left: left, at: .now) }
        wake.signal()
    }

    /// An error costs the links of spans and no result.
    private func joinedTraces(of results: [AttemptResult]) async -> [Int64: [String]] {
        guard let traces, !results.isEmpty else { return [:] }
        return (try? await traces.workers.joinedTraces(of: results.map(\.job.id))) ?? [:]
    }
}
