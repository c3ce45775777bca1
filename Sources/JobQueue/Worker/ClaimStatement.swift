extension Statement {
    /// A claim for at most `limit` jobs by a worker.
    init(
        claiming limit: Int, from source: ClaimSource, behind floors: [Int64]?, by worker: Int64,
        _ ticket: ClaimSequence.Ticket
    ) {
        sql = """
            SELECT job_id, attempt, max_attempts, url, pipeline_id, options, context, priority, origin, batch_id,
                blocked
            FROM larder.claim_v1($1, $2, $3::int, $4, $5, $6 = 1, $7)
            """
        parameters = [
            .integer(worker), .integer(ticket.number), .integer(Int64(limit)), .text(source.queueName),
            .optionalIntegers(floors ?? []), .integer(ticket.isAgain ? 1 : 0), .integer(source.onlyBatch),
        ]
    }
}

extension Rows {
    /// The jobs that a claim of this number brought.
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
        return Job(
            id: id, claim: claim, attempt: Int(integer(row, 1) ?? 1), maxAttempts: Int(integer(row, 2) ?? 1), url: url,
            pipeline: Int(pipeline), options: UInt64(bitPattern: integer(row, 5) ?? 0), context: text(row, 6),
            priority: Int(integer(row, 7) ?? 4), origin: text(row, 8) ?? "", batch: integer(row, 9) ?? 0,
            isBlocked: flag(row, 10) ?? false)
    }
}
