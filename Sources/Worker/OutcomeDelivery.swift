internal import ImageModel
internal import JobQueue

/// Completes outcomes together. When the database refuses a value of one of them, each is completed alone, so that only
/// the job of that one fails.
struct OutcomeDelivery: Sendable {
    /// The answer for one outcome.
    enum Answer: Sendable {
        case decided(Decision)
        /// Refused, also as a failure without any other value. Nothing is recorded.
        case refused
    }

    /// `WorkerSession.complete`.
    let complete: @Sendable ([Outcome]) async throws(QueueError) -> [(claim: Claim, decision: Decision)]
    /// Called for each outcome that is refused alone.
    let refused: @Sendable (Claim, QueueError) -> Void

    /// The answers, in the order of `outcomes`.
    ///
    /// Throws any other error. Outcomes that were completed before it get the same answer when they are sent again.
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
