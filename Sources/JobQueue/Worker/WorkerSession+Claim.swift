internal import Concurrency

extension WorkerSession {
    /// Claims at most `limit` jobs (1…1,000) of a queue, lowest priority number and oldest first.
    ///
    /// If an answer was lost, the next call returns it again, so that no job is held unknowingly; it may then exceed
    /// the next call's limit, but not the lost call's. Throws `.workerLost` if the lease has expired (register again)
    /// and `.unknownQueue`.
    public func claim(upTo limit: Int, from queueName: String = "default") async throws(QueueError) -> [Job] {
        try await claim(upTo: limit, from: .queue(queueName))
    }

    /// Claims at most `limit` jobs (1…1,000) of one batch, including joined jobs, from every queue and priority, oldest
    /// first.
    ///
    /// Returns none if the batch is paused, cancelled or finished. A lost answer is repeated as for a queue. Throws
    /// `.workerLost` if the lease has expired (register again) and `.unknownBatch`.
    public func claim(upTo limit: Int, ofBatch batch: Int64) async throws(QueueError) -> [Job] {
        try await claim(upTo: limit, from: .batch(batch))
    }

    /// Claims from a queue or batch.
    package func claim(upTo limit: Int, from source: ClaimSource) async throws(QueueError) -> [Job] {
        let (ticket, start) = claims.withLock { ($0.take(), $0.start(of: source)) }
        do throws(QueueError) {
            let jobs: [Job]
            do throws(QueueError) {
                jobs = try await claim(ticket, limit, from: source, behind: start)
            } catch {
                let wasLost = error.code == .connectionLost || error.code == .interrupted
                guard wasLost, !ticket.isAgain, !Task.isCancelled else { throw error }
                let again = ClaimSequence.Ticket(number: ticket.number, isAgain: true)
                jobs = try await claim(again, limit, from: source, behind: 0)
            }
            claims.withLock {
                $0.answered(ticket, jobs)
                $0.note(jobs, of: limit, from: source)
            }
            return jobs
        } catch {
            claims.withLock { $0.keep(ticket) }
            throw error
        }
    }

    /// One claim, repeated only if it certainly had no effect, or if `again` says that it may have had one.
    private func claim(
        _ ticket: ClaimSequence.Ticket, _ limit: Int, from source: ClaimSource, behind start: Int64
    ) async throws(QueueError) -> [Job] {
        try await queue.ask(
            """
            SELECT job_id, attempt, max_attempts, url, pipeline_id, options, context, priority, origin, batch_id,
                blocked, blocked_code, blocked_limit, traceparent, queued_ms
            FROM larder.claim_v1($1, $2, $3::int, $4, $5 = 1, $6, $7)
            """,
            [
                .integer(id), .integer(ticket.number), .integer(Int64(limit)), .text(source.queueName),
                .integer(ticket.isAgain ? 1 : 0), .text(source.onlyBatch), .integer(start),
            ], repeating: ticket.isAgain ? .harmless : .onlyUndone, cancellation: .never, on: queue.claims
        ) { rows throws(QueueError) in
            try rows.jobs(claim: ticket.number)
        }
    }
}

extension Rows {
    /// From the columns of `larder.claim_v1`.
    func jobs(claim: Int64) throws(QueueError) -> [Job] {
        var jobs: [Job] = []
        jobs.reserveCapacity(count)
        for row in 0..<count { jobs.append(try job(row, claim: claim)) }
        return jobs
    }

    private func job(_ row: Int, claim: Int64) throws(QueueError) -> Job {
        guard let id = integer(row, 0), let url = text(row, 3), let pipeline = integer(row, 4) else {
            throw QueueError(.unexpectedAnswer, "an incomplete job")
        }
        let blockedBy = integer(row, 12).map { ExceededLimit(code: Int(integer(row, 11) ?? 0), value: $0) }
        return Job(
            id: id, claim: claim, attempt: Int(integer(row, 1) ?? 1), maxAttempts: Int(integer(row, 2) ?? 1), url: url,
            pipeline: Int(pipeline), options: UInt64(bitPattern: integer(row, 5) ?? 0), context: text(row, 6),
            priority: Int(integer(row, 7) ?? 4), origin: text(row, 8) ?? "", batch: integer(row, 9) ?? 0,
            isBlocked: flag(row, 10) ?? false, blockedBy: blockedBy, traceparent: text(row, 13),
            queued: .milliseconds(max(0, integer(row, 14) ?? 0)))
    }
}
