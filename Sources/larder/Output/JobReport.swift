import ImageModel
import JobQueue

/// One job with its attempts, as `status --job` shows it.
struct JobReport: Encodable {
    struct Attempt: Encodable {
        let attempt: Int
        let outcome: String
        let worker: Int64?
        let claimedAt: String?
        let endedAt: String
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
            claimedAt = attempt.claimedAt
            endedAt = attempt.endedAt
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
    let reason: String?
    let outcome: String?
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
    let createdAt: String
    let claimedAt: String?
    let finishedAt: String?
    let cancelledAt: String?
    let retriedAs: Int64?
    let error: FailureReason?
    let attempts: [Attempt]

    init(_ status: JobStatus, _ attempts: [JobAttempt]) {
        job = status.id
        state = status.state.rawValue
        reason = status.reason?.rawValue
        outcome = status.outcome?.rawValue
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
        createdAt = status.createdAt
        claimedAt = status.claimedAt
        finishedAt = status.finishedAt
        cancelledAt = status.cancelledAt
        retriedAs = status.retriedAs
        error = status.error
        self.attempts = attempts.map(Attempt.init)
    }

    /// For people: the job, then a line per attempt.
    var text: String {
        var lines = [
            "job \(job): \(state)\((reason ?? outcome).map { " (\($0))" } ?? ""), \(url)",
            "batch \(title), \(items.counted("item")), priority \(priority), pipeline \(pipeline) version \(version)",
            "attempt \(attempt)" + (maxAttempts.map { " of \($0)" } ?? "")
                + ", rescued \(rescues.counted("time")), enqueued \(createdAt)",
        ]
        if let due { lines.append("due \(due)") }
        if let worker {
            lines.append(
                "worker \(worker)" + (workerName.map { " (\($0))" } ?? "") + (claimedAt.map { ", claimed \($0)" } ?? "")
            )
        }
        if let cancelledAt { lines.append("its worker was told to stop, \(cancelledAt)") }
        if let finishedAt { lines.append("ended \(finishedAt)") }
        if let retriedAs { lines.append("retried as job \(retriedAs)") }
        if attempts.isEmpty, let error { lines.append(error.text) }
        for attempt in attempts {
            let reason = attempt.error.map { ", \($0.text)" } ?? ""
            lines.append("attempt \(attempt.attempt): \(attempt.outcome), \(attempt.endedAt)\(reason)")
        }
        return lines.map { $0 + "\n" }.joined()
    }

    private var title: String { BatchProgress.title(batch == "\(batchID)" ? nil : batch, batchID) }
}
