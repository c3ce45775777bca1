internal import Concurrency
internal import ImageModel
internal import JobQueue

/// Commits the results of attempts in batches, as `WorkerState` gathers them. A slot is free once its result is
/// committed, so results cannot pile up while the database is unavailable.
struct BatchCompleter: WorkerService {
    let session: any WorkerJobs
    /// Reads the traces of joined items; nil if reports have none.
    let traces: PostgresJobQueue?
    let state: Locked<WorkerState>
    /// Wakes the claim loop.
    let wake: AsyncEvent
    let observe: @Sendable (WorkerEvent) -> Void
    private let hasResults = AsyncEvent()

    /// Adds an attempt's result. Its slot is freed by the commit.
    func add(_ result: AttemptResult) {
        if state.withLock({ $0.ended(result, at: .now) }) { hasResults.signal() }
    }

    /// Signals results that `add` did not announce.
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
        let delivery = OutcomeDelivery(complete: session.complete(_:)) { [observe] claim, error in
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
                // Forget the claim: the database gives the job to a worker again.
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
            // Send the results again. Completing is idempotent.
        }
        state.withLock { [decisions, left] in $0.completed(decisions, left: left, at: .now) }
        wake.signal()
    }

    /// Errors are ignored: the spans only lose their links.
    private func joinedTraces(of results: [AttemptResult]) async -> [Int64: [String]] {
        guard let traces, !results.isEmpty else { return [:] }
        return (try? await traces.workers.joinedTraces(of: results.map(\.job.id))) ?? [:]
    }
}

/// Completes a batch of outcomes. If the database refuses a value, each outcome is completed alone, so that only the
/// job with that value fails.
struct OutcomeDelivery: Sendable {
    enum Answer: Sendable {
        case decided(Decision)
        /// Refused even as a plain failure. Nothing is recorded.
        case refused
    }

    /// `WorkerSession.complete`.
    let complete: @Sendable ([Outcome]) async throws(QueueError) -> [(claim: Claim, decision: Decision)]
    /// Called for each outcome that is refused alone.
    let refused: @Sendable (Claim, QueueError) -> Void

    /// The answers, in the order of `outcomes`.
    ///
    /// Throws any other error. Resending outcomes that were already completed returns the same answers.
    func send(_ outcomes: [Outcome]) async throws(QueueError) -> [Answer] {
        do throws(QueueError) {
            return try await complete(outcomes).map { .decided($0.decision) }
        } catch {
            guard error.refusesValue else { throw error }
            guard outcomes.count > 1 else { return try await fail(outcomes, error) }
            var answers: [Answer] = []
            for outcome in outcomes { answers += try await send([outcome]) }
            return answers
        }
    }

    /// Records refused outcomes as failures.
    private func fail(_ outcomes: [Outcome], _ error: QueueError) async throws(QueueError) -> [Answer] {
        for outcome in outcomes { refused(outcome.claim, error) }
        let state = error.sqlState.map { " (SQLSTATE \($0))" } ?? ""
        let reason = FailureReason(.resultRefused, "the database refused the result\(state)")
        do throws(QueueError) {
            return try await complete(outcomes.map { Outcome($0.claim, .failed(reason)) }).map { .decided($0.decision) }
        } catch {
            guard error.refusesValue else { throw error }
            return outcomes.map { _ in .refused }
        }
    }
}
