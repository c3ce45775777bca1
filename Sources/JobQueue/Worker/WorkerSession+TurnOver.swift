internal import Executors

/// What a settle that claims as well brings back.
public struct Turnover: Sendable {
    /// What was decided, one settlement per outcome, in order.
    public let settlements: [Settlement]
    /// The jobs claimed; nil when nothing could be claimed together with the settle, and a claim is to be made by itself.
    public let jobs: [Job]?
}

extension WorkerSession {
    /// Records outcomes as `settle(_:)` does and claims at most `limit` jobs (1…1,000) of a queue, both in one round trip
    /// and one transaction: the slots that become free are filled again by the commit that frees them.
    ///
    /// Where an outcome is answered `.busy`, its slot is not free: release what was claimed beyond. What makes the claim
    /// fail does not keep the outcomes from being recorded, and an answer that is lost is asked for again, of the settle
    /// at once, of the claim by the next `claim(upTo:from:)`. Throws what `settle(_:)` throws.
    public func settle(
        _ outcomes: [Outcome], claimingUpTo limit: Int, from queueName: String = "default"
    ) async throws(QueueError) -> Turnover {
        try await settle(outcomes, claimingUpTo: limit, from: .queue(queueName))
    }

    /// The same with a claim of what one batch wants, as `claim(upTo:ofBatch:)` makes it.
    public func settle(
        _ outcomes: [Outcome], claimingUpTo limit: Int, ofBatch batch: Int64
    ) async throws(QueueError) -> Turnover {
        try await settle(outcomes, claimingUpTo: limit, from: .batch(batch))
    }

    /// The same with a claim from either.
    package func settle(
        _ outcomes: [Outcome], claimingUpTo limit: Int, from source: ClaimSource
    ) async throws(QueueError) -> Turnover {
        let (ticket, floors) = claims.withLock { claims in
            (outcomes.isEmpty ? nil : claims.takeNew(), claims.floors[source]?.current())
        }
        guard let ticket else { return Turnover(settlements: try await settle(outcomes), jobs: nil) }
        do throws(QueueError) {
            let (settlements, jobs) = try await queue.connection.query(
                Statement(settling: outcomes, of: id),
                then: Statement(claiming: limit, from: source, behind: floors, by: id, ticket)
            ) { settled, claimed throws(QueueError) in
                (try settled.settlements(of: outcomes), try claimed.jobs(claim: ticket.number))
            }
            claims.withLock { $0.note(jobs, of: limit, from: source) }
            return Turnover(settlements: settlements, jobs: jobs)
        } catch {
            // Both took effect or neither, and which of the two is not always known: the claim is asked for again under its
            // number, and to settle twice does no harm.
            claims.withLock { $0.unanswered.append(ticket.number) }
        }
        return Turnover(settlements: try await settle(outcomes), jobs: nil)
    }
}
