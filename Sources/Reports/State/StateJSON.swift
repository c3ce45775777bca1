import ImageModel
package import JobQueue
package import Terminal

/// The database's state as JSON, for `--json` and the API of `serve`.
extension QueueStatus {
    package var json: JSONObject {
        [
            "queue": name, "paused": isPaused, "ready": hasReady, "running": running, "maxRunning": maxRunning,
            "maxRate": maxRate, "limit": reachedLimit?.rawValue, "open": openItems, "liveWorkers": liveWorkers,
            "order": isNewestFirst ? "newest" : "oldest", "lowPriorityEvery": lowPriorityEvery,
            "jobTimeoutSeconds": jobTimeout.components.seconds,
            "keepHistorySeconds": keepHistory?.components.seconds,
        ]
    }
}

extension LimitedOrigin {
    package var json: JSONObject {
        [
            "origin": origin, "maxRunning": maxRunning, "maxRate": maxRate, "running": running,
            "limit": reachedLimit?.rawValue, "deferredUntil": deferredUntil,
        ]
    }
}

extension URLStatus {
    package var json: JSONObject {
        [
            "url": ShownURL.text(url), "state": state?.rawValue, "outcome": outcome?.rawValue, "job": job,
            "finishedAt": finishedAt, "files": files.map(\.json),
        ]
    }
}

extension URLStatus.File {
    package var json: JSONObject { ["variant": variant, "key": key, "path": path, "format": format] }
}

extension HeldOrigin {
    package var json: JSONObject {
        [
            "origin": origin, "why": reason.rawValue, "since": since,
            "seconds": Int(remaining.components.seconds),
            "domain": failure?.domain, "code": failure?.code,
            "meaning": failure.map { FailureAdvice(domain: $0.domain, code: $0.code, status: httpStatus).meaning },
        ]
    }
}

extension BlockedURL {
    package var json: JSONObject {
        [
            "url": ShownURL.text(url), "until": until, "failures": failures, "domain": error.domain,
            "code": error.code, "message": error.message, "httpStatus": httpStatus,
        ]
    }
}

extension BlockedURL {
    /// JSON for the dashboard. Includes the unmasked URL only if the user may change things.
    package func json(isNamed: Bool) -> JSONObject {
        var object = json
        object["url"] = ShownURL.masked(url)
        object["given"] = isNamed ? ShownURL.text(url) : nil as String?
        return object
    }
}

extension Schedule {
    package var json: JSONObject {
        [
            "name": name, "cron": cron, "timeZone": timeZone, "query": query, "urls": urls, "owner": owner,
            "paused": isPaused, "nextAt": nextAt, "lastAt": lastAt, "lastBatch": lastBatch, "lastURLs": lastURLs,
            "lastError": lastError, "missed": missed, "waitingFor": waitingFor,
        ]
    }
}

extension WorkerStatus {
    package var json: JSONObject {
        [
            "worker": "\(id)", "name": name, "host": host, "version": version, "slots": slots, "running": running,
            "state": state, "startedAt": startedAt, "heartbeatAt": heartbeatAt, "fault": fault,
        ]
    }
}

extension RunningJob {
    package var json: JSONObject {
        [
            "job": job, "batchID": batch, "batch": batchName ?? "\(batch)", "worker": "\(worker)",
            "workerName": workerName, "attempt": attempt, "seconds": seconds, "url": ShownURL.masked(url),
        ]
    }
}

extension ThroughputMinute {
    package var json: JSONObject {
        [
            "minute": minute, "enqueued": enqueued, "succeeded": succeeded, "failed": failed, "cancelled": cancelled,
            "bytesIn": bytesIn, "bytesOut": bytesOut,
        ]
    }
}

extension OperatorAction {
    package var json: JSONObject {
        ["at": at, "login": login, "actor": actor, "verb": verb, "target": target, "error": error]
    }
}

extension BatchImage {
    package var json: JSONObject {
        [
            "job": Int(job), "url": ShownURL.masked(url), "variant": variant, "key": ShownURL.masked(key),
            "format": format,
            "width": width, "height": height, "bytes": bytes,
        ]
    }
}

extension HistorySlot {
    package var json: JSONObject {
        [
            "at": at, "enqueued": enqueued, "succeeded": succeeded, "failed": failed, "cancelled": cancelled,
            "bytesIn": bytesIn, "open": open,
        ]
    }
}

extension QueueOverview {
    package var json: JSONObject {
        [
            "open": open, "running": running, "liveWorkers": liveWorkers, "rate": (rate * 100).rounded() / 100,
            "succeededInDay": succeededInDay, "failedInDay": failedInDay,
        ]
    }
}

extension OriginActivity {
    package var json: JSONObject {
        [
            "origin": origin, "jobs": jobs, "failed": failed, "perMinute": (perMinute * 10).rounded() / 10,
            "fetchMs": fetchMs, "bytesIn": bytesIn, "domain": error?.domain, "code": error?.code,
            "meaning": error.map { FailureAdvice(domain: $0.domain, code: $0.code, status: nil).meaning },
            "errors": error?.items ?? 0,
        ]
    }
}

extension FoundFailure {
    package var json: JSONObject {
        let advice = FailureAdvice(domain: error.domain, code: error.code, status: httpStatus)
        return [
            "job": job, "batchID": batch, "batch": batchName ?? "\(batch)", "url": ShownURL.masked(url),
            "domain": error.domain, "code": error.code, "message": FailureLine.message(error.message, of: url),
            "meaning": advice.meaning,
            "httpStatus": httpStatus, "attempts": attempts, "finishedAt": finishedAt, "traceID": traceID,
        ]
    }
}

extension ErrorCount {
    /// Includes the error's meaning and remedy.
    package var adviceJSON: JSONObject {
        let advice = FailureAdvice(domain: domain, code: code, status: nil)
        return ["domain": domain, "code": code, "items": items, "meaning": advice.meaning, "action": advice.action]
    }
}
