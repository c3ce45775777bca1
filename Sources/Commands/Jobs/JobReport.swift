import Concurrency
import JobQueue
import Reports
import Terminal

/// A job with its attempts, for `status --job`.
struct JobReport {
    let job: JobStatus
    let attempts: [JobAttempt]

    var json: JSONObject {
        var object: JSONObject = [
            "job": job.id, "state": job.state.rawValue, "reason": job.reason?.rawValue,
            "outcome": job.outcome?.rawValue, "url": ShownURL.masked(job.url),
            "batch": job.batchName ?? "\(job.batch)", "batchID": job.batch, "pipeline": job.pipeline,
            "version": job.pipelineVersion, "priority": job.priority, "items": job.items, "attempt": job.attempt,
            "maxAttempts": job.maxAttempts, "rescues": job.rescues, "worker": job.worker,
            "workerName": job.workerName, "due": job.due, "createdAt": job.createdAt, "claimedAt": job.claimedAt,
            "finishedAt": job.finishedAt, "cancelledAt": job.cancelledAt, "retriedAs": job.retriedAs,
            "error": job.error, "traceID": job.traceID,
        ]
        object["attempts"] = attempts.map { attempt -> JSONObject in
            [
                "attempt": attempt.number, "outcome": attempt.outcome, "worker": attempt.worker,
                "claimedAt": attempt.claimedAt, "endedAt": attempt.endedAt, "httpStatus": attempt.httpStatus,
                "fetchMs": attempt.fetch?.milliseconds, "transcodeMs": attempt.transcode?.milliseconds,
                "storeMs": attempt.store?.milliseconds, "delayMs": attempt.delay?.milliseconds,
                "error": attempt.error,
            ]
        }
        return object
    }

    /// Lines about the job, then one per attempt.
    var text: String {
        let batch = BatchProgress.title(job.batchName, job.batch)
        let detail = job.reason?.rawValue ?? job.outcome?.rawValue
        let state = job.state.rawValue + (detail.map { " (\($0))" } ?? "")
        let limit = job.maxAttempts.map { " of \($0)" } ?? ""
        var lines = [
            "job \(job.id): \(state), \(ShownURL.masked(job.url))",
            "batch \(batch), \(job.items.counted("item")), priority \(job.priority), "
                + "pipeline \(job.pipeline) version \(job.pipelineVersion)",
            "attempt \(job.attempt)\(limit), rescued \(job.rescues.counted("time")), enqueued \(job.createdAt)",
        ]
        if let trace = job.traceID { lines.append("trace \(trace)") }
        if let due = job.due { lines.append("due \(due)") }
        if let worker = job.worker {
            let name = job.workerName.map { " (\($0))" } ?? ""
            lines.append("worker \(worker)\(name)" + (job.claimedAt.map { ", claimed \($0)" } ?? ""))
        }
        if let time = job.cancelledAt { lines.append("cancellation requested \(time)") }
        if let time = job.finishedAt { lines.append("ended \(time)") }
        if let number = job.retriedAs { lines.append("retried as job \(number)") }
        if attempts.isEmpty, let error = job.error { lines.append(error.text) }
        for attempt in attempts {
            let error = attempt.error.map { ", \($0.text)" } ?? ""
            lines.append("attempt \(attempt.number): \(attempt.outcome), \(attempt.endedAt)\(error)")
        }
        return lines.map { $0 + "\n" }.joined()
    }
}
