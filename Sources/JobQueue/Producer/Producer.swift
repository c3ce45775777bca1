extension PostgresJobQueue {
    /// Enqueues URLs; opens, seals and controls batches.
    public var producer: Producer { Producer(database: self) }

    /// Calls for a program that enqueues URLs and owns batches. The login needs the role `larder_producer`.
    public struct Producer: Sendable {
        let database: PostgresJobQueue
    }
}

extension PostgresJobQueue.Producer {
    /// Changes a live job and returns its state; nil keeps a value.
    ///
    /// Throws `.unknownJob` if the job is unknown or completed, and `.invalidArgument`.
    ///
    /// - Parameters:
    ///   - job: its number.
    ///   - priority: 0 first … 9 last.
    ///   - start: when it may run; a time in the past makes it ready. No effect on a running or suspended job.
    public func change(
        job: Int64, priority: Int? = nil, start: EnqueueRequest.Start? = nil
    ) async throws(QueueError) -> JobState {
        let at = start.map { $0.sql("$3") } ?? "$3::timestamptz"
        return try await database.ask(
            "SELECT larder.job_change($1, $2::int, \(at))",
            [.integer(job), .integer(priority.map(Int64.init)), start.map { .integer($0.milliseconds) } ?? .text(nil)]
        ) { rows throws(QueueError) in
            guard let state = rows.text(0, 0).flatMap(JobState.init(rawValue:)) else {
                throw QueueError(.unexpectedAnswer, "job_change answered \(rows.text(0, 0) ?? "nothing")")
            }
            return state
        }
    }

    /// Opens a batch, or returns the open batch of that name; nil opens a new unnamed batch. A name is not all digits.
    ///
    /// If the named batch is finished or cancelled, its next run is opened; with `nextRun` also if it is sealed, so
    /// that both runs have open items. `notify` sends the batch's id on channel `larder_batch` when it finishes. Throws
    /// `.batchClosed` if the named batch is sealed with open items, `.unknownPipeline`, `.unknownQueue`,
    /// `.invalidArgument`, and `.refused` for the batch of another role.
    public func openBatch(
        name: String?, pipeline: String? = nil, priority: Int? = nil, queue: String = "default", notify: Bool = false,
        nextRun: Bool = false
    ) async throws(QueueError) -> Int64 {
        try await database.ask(
            "SELECT larder.batch_open($1, $2, $3::int, $4, \(notify), \(nextRun))",
            [.text(name), .text(pipeline), .integer(priority.map(Int64.init)), .text(queue)],
            repeating: name == nil ? .onlyUndone : .harmless
        ) { rows throws(QueueError) in
            guard let id = rows.integer(0, 0) else { throw QueueError(.unexpectedAnswer, "no id for the batch") }
            return id
        }
    }

    /// Closes a batch for further URLs, so that it finishes with its last open item. May be repeated.
    ///
    /// Waits for transactions that still add to it. Throws `.unknownBatch`.
    public func seal(_ batch: BatchReference) async throws(QueueError) {
        try await database.ask("SELECT larder.batch_seal($1)", [.text(batch.text)]) { _ throws(QueueError) in }
    }

    /// Sets the URL to which a worker posts a batch's counts when it is finished; nil for none.
    ///
    /// Throws `.unknownBatch`, `.invalidArgument` unless it is an http or https URL, `.locked`, and `.refused` for the
    /// batch of another role.
    public func setWebhook(of batch: BatchReference, to url: String?) async throws(QueueError) {
        try await database.ask("SELECT larder.batch_on_finished($1, $2)", [.text(batch.text), .text(url)]) {
            _ throws(QueueError) in
        }
    }

    /// Notifies listeners on channel `larder` that a queue has ready jobs.
    public func notify(queue: String = "default") async throws(QueueError) {
        try await database.ask("SELECT larder.notify($1)", [.text(queue)]) { _ throws(QueueError) in }
    }
}

/// One version of a pipeline.
public struct PipelineVersion: Sendable {
    /// The id, as in `Job.pipeline`.
    public let id: Int
    /// The name.
    public let name: String
    /// The version, from 1.
    public let version: Int
    /// The JSON text exactly as given: numbers keep their spelling.
    public let spec: String
}

extension PostgresJobQueue.Producer {
    /// Adds a pipeline version unless the newest one has the same text. Live jobs keep their version.
    ///
    /// The text must be JSON (else `.refused`); its content is not checked.
    public func setPipeline(name: String, spec: String) async throws(QueueError) -> PipelineVersion {
        try await database.ask(
            """
            SELECT s.pipeline_id, $1::text, s.version, $2::text FROM larder.pipeline_set($1, $2::json) AS s
            """, [.text(name), .text(spec)]
        ) { rows throws(QueueError) in try rows.pipeline(0) }
    }
}

extension Rows {
    /// From the columns id, name, version, spec.
    func pipeline(_ row: Int) throws(QueueError) -> PipelineVersion {
        guard row < count, let id = integer(row, 0), let name = text(row, 1), let version = integer(row, 2),
            let spec = text(row, 3)
        else { throw QueueError(.unexpectedAnswer, "an incomplete pipeline") }
        return PipelineVersion(id: Int(id), name: name, version: Int(version), spec: spec)
    }
}
