extension PostgresJobQueue {
    /// Starts workers and runs maintenance.
    public var workers: Workers { Workers(database: self) }

    /// The calls of workers and what they do for each other; their login needs the role `larder_worker`.
    public struct Workers: Sendable {
        let database: PostgresJobQueue
    }
}

extension PostgresJobQueue.Workers {
    /// Registers a worker. Throws `.protocolMismatch` when the database does not offer this program's protocol,
    /// `.notMigrated`, `.invalidArgument`.
    public func start(_ description: WorkerDescription) async throws(QueueError) -> WorkerSession {
        let sent = TimeOfDay.now
        return try await database.ask(
            """
            SELECT worker_id, lease_ms, extract(epoch FROM clock_timestamp())
            FROM larder.worker_start_v1($1, $2, $3::int, $4, $5::int, $6, $7)
            """,
            [
                .text(description.name), .text(description.host), .integer(Int64(description.processID)),
                .text(description.version), .integer(Int64(description.slots)), .text(description.cacheID),
                .text(description.queue),
            ], cancellation: .never
        ) { rows throws(QueueError) in
            guard let id = rows.integer(0, 0), let lease = rows.integer(0, 1) else {
                throw QueueError(.unexpectedAnswer, "no id for the worker")
            }
            return WorkerSession(
                id: id, lease: .milliseconds(lease), clockOffset: TimeOfDay.offset(of: rows.number(0, 2), sent: sent),
                queue: database)
        }
    }

    /// The pipeline version of an id. Throws `.unknownPipeline`.
    public func pipeline(id: Int) async throws(QueueError) -> PipelineVersion {
        try await database.read(
            "SELECT pipeline_id, name, version, spec FROM larder.pipeline WHERE pipeline_id = $1", [.integer(Int64(id))]
        ) { rows throws(QueueError) in
            guard rows.count == 1 else { throw QueueError(.unknownPipeline, "no pipeline has the id \(id)") }
            return try rows.pipeline(0)
        }
    }
}
