import JobQueue

/// One job with its attempts, as `status --job` shows it.
struct JobReport: Encodable {
    struct Attempt: Encodable {
        let attempt: Int
        let outcome: String
        let worker: Int64?
        let claimed: String?
        let ended: String
        let httpStatus: Int?
        let fetchMs: Int64?
        let transcodeMs: Int64?
        let storeMs: Int64?
        let delayMs: Int64?
        let error: FailureReason?

        init(_ attempt: JobAttempt) {
            self.attempt = attempt.number
            outcome = attempt.outcome
            worker = attempt.worker
            claimed = attempt.claimedAt
            ended = attempt.endedAt
            httpStatus = attempt.httpStatus
            fetchMs = attempt.fetch?.milliseconds
            transcodeMs = attempt.transcode?.milliseconds
            storeMs = attempt.store?.milliseconds
            delayMs = attempt.delay?.milliseconds
            error = attempt.error
        }
    }

    let job: Int64
    let state: String
    let url: String
    let batch: String
    let batchID: Int64
    let pipeline: String
    let version: Int
    let priority: Int
    let items: Int
    let attempt: Int
    let maxAttempts: Int?
    let rescues: Int
    let worker: Int64?
    let workerName: String?
    let due: String?
    let created: String
    let claimed: String?
    let finished: String?
    let cancelled: String?
    let retriedAs: Int64?
    let error: FailureReason?
    let attempts: [Attempt]

    init(_ status: JobStatus, _ attempts: [JobAttempt]) {
        job = status.id
        state = status.state
        url = ShownURL.text(status.url)
        batch = status.batchName ?? "\(status.batch)"
        batchID = status.batch
        pipeline = status.pipeline
        version = status.pipelineVersion
        priority = status.priority
        items = status.items
        attempt = status.attempt
        maxAttempts = status.maxAttempts
        rescues = status.rescues
        worker = status.worker
        workerName = status.workerName
        due = status.due
        created = status.createdAt
        claimed = status.claimedAt
        finished = status.finishedAt
        cancelled = status.cancelledAt
        retriedAs = status.retriedAs
        error = status.error
        self.attempts = attempts.map(Attempt.init)
    }

    /// For people: the job, then a line per attempt.
    var text: String {
        var lines = [
            "job \(job): \(state), \(url)",
            "batch \(batch), \(items) items, priority \(priority), pipeline \(pipeline) version \(version)",
            "attempt \(attempt)" + (maxAttempts.map { " of \($0)" } ?? "")
                + ", rescued \(rescues) times, enqueued \(created)",
        ]
        if let due { lines.append("due \(due)") }
        if let worker {
            lines.append(
                "worker \(worker)" + (workerName.map { " (\($0))" } ?? "") + (claimed.map { ", claimed \($0)" } ?? ""))
        }
        if let cancelled { lines.append("its worker was told to stop, \(cancelled)") }
        if let finished { lines.append("ended \(finished)") }
        if let retriedAs { lines.append("retried as job \(retriedAs)") }
        if attempts.isEmpty, let error { lines.append("\(error.message) (\(error.domain) \(error.code))") }
        for attempt in attempts {
            lines.append("attempt \(attempt.attempt): \(attempt.outcome), \(attempt.ended)\(Self.why(attempt.error))")
        }
        return lines.map { $0 + "\n" }.joined()
    }

    private static func why(_ error: FailureReason?) -> String {
        error.map { ", \($0.message) (\($0.domain) \($0.code))" } ?? ""
    }
}
