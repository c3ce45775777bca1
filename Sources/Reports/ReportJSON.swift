import Concurrency
import ImageModel
package import JobQueue
package import Terminal

extension BatchProgress {
    /// For `status --json`.
    package var json: JSONObject {
        [
            "batch": displayName, "batchID": id, "run": run, "state": state.rawValue, "openedAt": openedAt,
            "finishedAt": finishedAt, "total": total, "finished": finished, "skipped": skipped, "open": open,
            "succeeded": succeeded, "failed": failed, "cancelled": cancelled, "fresh": fresh, "blocked": blocked,
            "invalid": invalid, "joined": joined, "retries": retries, "downloads": downloads, "variants": variants,
            "bytesIn": bytesIn, "bytesOut": bytesOut, "percent": percent,
            "seconds": Double(elapsed.milliseconds) / 1000, "rate": rate,
            "etaSeconds": eta.map { Double($0.milliseconds) / 1000 }, "p50Ms": p50, "p95Ms": p95,
            "topErrors": topErrors.map { ["domain": $0.domain, "code": $0.code, "items": $0.items] as JSONObject },
        ]
    }
}

extension BatchReport {
    /// For `run --json` and `report --format json`: the progress, the number of discarded failures, and the first 1,000
    /// others.
    package var json: JSONObject {
        var object = progress.json
        object["discarded"] = discarded
        object["failures"] = failures.map(\.json)
        return object
    }
}

extension FailureRecord {
    package var json: JSONObject {
        [
            "url": ShownURL.masked(url), "domain": error.domain, "code": error.code, "message": error.message,
            "attempts": attempts, "meta": ProducerMeta(meta), "traceID": traceID,
        ]
    }
}
