package import JobQueue

/// A worker's calls to its queue. `PostgresJobQueue` asks the database; tests answer in process.
package protocol WorkerQueue: Sendable {
    /// The database whose maintenance, webhooks, origins and traces the worker serves too; nil, the default, without
    /// one.
    var database: PostgresJobQueue? { get }
    /// Registers the worker: `PostgresJobQueue.Workers.start`.
    func register(_ description: WorkerDescription) async throws(QueueError) -> any WorkerJobs
    /// The pipeline version of an id: `PostgresJobQueue.Workers.pipeline`.
    func pipeline(id: Int) async throws(QueueError) -> PipelineVersion
    /// The open items of a batch.
    func openItems(of batch: Int64) async throws(QueueError) -> Int
    /// The work left of a batch, or of a queue when `batch` is nil: `PostgresJobQueue.Reports.remaining`.
    func remaining(of batch: Int64?, queue: String) async throws(QueueError) -> Remaining
}

extension WorkerQueue {
    package var database: PostgresJobQueue? { nil }
}

extension PostgresJobQueue: WorkerQueue {
    package var database: PostgresJobQueue? { self }

    package func register(_ description: WorkerDescription) async throws(QueueError) -> any WorkerJobs {
        try await workers.start(description)
    }

    package func pipeline(id: Int) async throws(QueueError) -> PipelineVersion { try await workers.pipeline(id: id) }

    package func openItems(of batch: Int64) async throws(QueueError) -> Int {
        try await reports.progress(of: .id(batch), isDetailed: false).open
    }

    package func remaining(of batch: Int64?, queue: String) async throws(QueueError) -> Remaining {
        try await reports.remaining(of: batch, queue: queue)
    }
}

/// The calls of one registered worker; `WorkerSession` describes each.
package protocol WorkerJobs: Sendable {
    var id: Int64 { get }
    var lease: Duration { get }
    var clockOffset: Duration { get }
    func claim(upTo limit: Int, from source: ClaimSource) async throws(QueueError) -> [Job]
    func complete(_ outcomes: [Outcome]) async throws(QueueError) -> [(claim: Claim, decision: Decision)]
    func snooze(_ jobs: [(claim: Claim, delay: Duration)]) async throws(QueueError)
    func forget(_ claim: Claim)
    func heartbeat() async throws(QueueError) -> HeartbeatReply
    func report(fault: String?) async throws(QueueError)
    func startDrain(of queue: String) async throws(QueueError) -> OtherDrain?
    func stop() async throws(QueueError)
}

extension WorkerSession: WorkerJobs {}
