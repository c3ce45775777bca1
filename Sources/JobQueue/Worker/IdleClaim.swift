internal import Concurrency

/// The answer to a claim of a worker that holds no job.
package struct IdleClaim: Sendable {
    /// The jobs, as of any other claim. With jobs the rest is empty.
    package let jobs: [Job]
    /// The calls for which there is work.
    package let due: Set<DueCall>
    /// What a heartbeat would have answered; nil when the lease was not extended, as the last heartbeat is 2 s old at
    /// most.
    package let heartbeat: HeartbeatReply?
}

extension WorkerSession {
    /// Claims as `claim(upTo:from:)` does; without a job it also extends the lease when that is due, and answers which
    /// of the calls `handled` are due. For a worker that holds no job, about once a second.
    ///
    /// Of all workers that call at the same time, one gets the answer that a call is due; `.end` is answered to each.
    /// Throws as a claim.
    package func claimIdle(
        upTo limit: Int, from source: ClaimSource, handling handled: Set<DueCall>
    ) async throws(QueueError) -> IdleClaim {
        // A job that became ready below the last position is found within a second, so it is old by now.
        try await numbered(limit, source) { ticket, _ throws(QueueError) in
            try await self.claimIdle(ticket, limit, from: source, handled)
        } jobs: {
            $0.jobs
        }
    }

    private func claimIdle(
        _ ticket: ClaimSequence.Ticket, _ limit: Int, from source: ClaimSource, _ handled: Set<DueCall>
    ) async throws(QueueError) -> IdleClaim {
        let sent = TimeOfDay.now
        return try await queue.ask(
            """
            SELECT job_id, attempt, max_attempts, url, pipeline_id, options, context, priority, origin, batch_id,
                blocked, array_to_string(due, ','), lease_ms, extract(epoch FROM clock_timestamp())
            FROM larder.claim_idle_v1($1, $2, $3::int, $4, $5 = 1, $6, $7, $8)
            """,
            [
                .integer(id), .integer(ticket.number), .integer(Int64(limit)), .text(source.queueName),
                .integer(ticket.isAgain ? 1 : 0), .text(source.onlyBatch), .integer(claims.withLock { $0.oldest }),
                .texts(handled.names),
            ], repeating: ticket.isAgain ? .harmless : .onlyUndone, on: queue.claims
        ) { rows throws(QueueError) in
            if rows.count == 1, rows.integer(0, 0) == nil {
                let heartbeat = rows.integer(0, 12).map { lease in
                    HeartbeatReply(
                        cancelled: [], leaseExpired: false, lease: .milliseconds(lease),
                        pause: WorkerSession.heartbeatPause, due: [],
                        clockOffset: TimeOfDay.offset(of: rows.number(0, 13), sent: sent))
                }
                return IdleClaim(jobs: [], due: Set(names: rows.text(0, 11)), heartbeat: heartbeat)
            }
            return IdleClaim(jobs: try rows.jobs(claim: ticket.number), due: [], heartbeat: nil)
        }
    }
}
