internal import Concurrency

/// What a complete that claims as well brings back.
public struct CompleteAndClaim: Sendable {
    /// What was decided, one completion per outcome, in order.
    public let completions: [CompletionResult]
    /// The jobs claimed; nil when nothing could be claimed together with the complete, and a claim is to be made by itself.
    public let jobs: [Job]?
}

extension WorkerSession {
    /// Records outcomes as `complete(_:)` does and claims at most `limit` jobs (1…1,000) of a queue, both in one round trip
    /// and one transaction: the slots that become free are filled again by the commit that frees them.
    ///
    /// Where an outcome is answered `.busy`, its slot is not free: release what was claimed beyond. What makes the claim
    /// fail does not keep the outcomes from being recorded, and an answer that is lost is asked for again, of the complete
    /// at once, of the claim by the next `claim(upTo:from:)`. Throws what `complete(_:)` throws.
    public func complete(
        _ outcomes: [Outcome], claimingUpTo limit: Int, from queueName: String = "default"
    ) async throws(QueueError) -> CompleteAndClaim {
        try await complete(outcomes, claimingUpTo: limit, from: .queue(queueName))
    }

    /// The same with a claim of what one batch wants, as `claim(upTo:ofBatch:)` makes it.
    public func complete(
        _ outcomes: [Outcome], claimingUpTo limit: Int, ofBatch batch: Int64
    ) async throws(QueueError) -> CompleteAndClaim {
        try await complete(outcomes, claimingUpTo: limit, from: .batch(batch))
    }

    /// The same with a claim from either.
    package func complete(
        _ outcomes: [Outcome], claimingUpTo limit: Int, from source: ClaimSource
    ) async throws(QueueError) -> CompleteAndClaim {
        let (ticket, floors) = claims.withLock { claims in
            (outcomes.isEmpty ? nil : claims.takeNew(), claims.floors[source]?.current())
        }
        guard let ticket else { return CompleteAndClaim(completions: try await complete(outcomes), jobs: nil) }
        do throws(QueueError) {
            let (completions, jobs) = try await queue.connection.query(
                Statement(completing: outcomes, of: id),
                then: Statement(claiming: limit, from: source, behind: floors, by: id, ticket)
            ) { completed, claimed throws(QueueError) in
                (try completed.completions(of: outcomes), try claimed.jobs(claim: ticket.number))
            }
            claims.withLock { $0.note(jobs, of: limit, from: source) }
            return CompleteAndClaim(completions: completions, jobs: jobs)
        } catch {
            // Both took effect or neither, and which of the two is not always known: the claim is asked for again under its
            // number, and to complete twice does no harm.
            claims.withLock { $0.unanswered.append(ticket.number) }
        }
        return CompleteAndClaim(completions: try await complete(outcomes), jobs: nil)
    }
}
