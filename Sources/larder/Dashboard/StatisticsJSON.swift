import JobQueue

extension BatchSample {
    /// The object of the page of a batch.
    var json: JSONObject {
        [
            "jobs": jobs,
            "slotMilliseconds": slotMilliseconds,
            "timeline": timeline.map {
                ["slot": $0.slot, "succeeded": $0.succeeded, "skipped": $0.skipped] as JSONObject
            },
            "stages": stages.map {
                ["stage": $0.stage, "p50": $0.p50, "p95": $0.p95, "p99": $0.p99] as JSONObject
            },
            "originCount": originCount,
            "origins": origins.map {
                [
                    "origin": $0.origin, "items": $0.items, "failed": $0.failed, "bytesIn": $0.bytesIn,
                    "fetchMs": $0.fetchMs,
                ] as JSONObject
            },
            "slowest": slowest.map(\.json), "largest": largest.map(\.json), "variants": variants.map(\.json),
            "causes": causes.map(\.json),
        ]
    }
}

// The parts that `report --format json` has, too.

extension BatchStatistics.SlowJob {
    var json: JSONObject {
        ["url": ShownURL.masked(url), "wait": wait, "fetch": fetch, "transcode": transcode, "store": store]
    }
}

extension BatchStatistics.LargeOriginal {
    var json: JSONObject { ["url": ShownURL.masked(url), "bytes": bytes] }
}

extension BatchStatistics.VariantSize {
    var json: JSONObject { ["name": name, "files": files, "made": made, "bytes": bytes, "originals": originals] }
}

extension BatchStatistics.FailureCause {
    var json: JSONObject {
        let advice = FailureAdvice(domain: domain, code: code, status: status)
        return [
            "domain": domain, "code": code, "status": status, "items": items, "origins": origins,
            "meaning": advice.meaning, "action": advice.action,
            "message": FailureLine.message(message, of: examples.first ?? ""),
            "examples": examples.map(ShownURL.masked),
        ]
    }
}

/// The schemas of the sample of a batch.
enum StatisticsJSON {
    static var schema: JSONObject {
        func array(_ fields: [String: String]) -> JSONObject {
            ["type": "array", "items": DashboardOpenAPI.object(of: fields)]
        }
        let parts: [String: JSONObject] = [
            "jobs": ["type": "integer"], "slotMilliseconds": ["type": "integer"], "originCount": ["type": "integer"],
            "timeline": array(["slot": "integer", "succeeded": "integer", "skipped": "integer"]),
            "stages": array(["stage": "string", "p50": "integer?", "p95": "integer?", "p99": "integer?"]),
            "origins": array([
                "origin": "string", "items": "integer", "failed": "integer", "bytesIn": "integer",
                "fetchMs": "integer?",
            ]),
            "slowest": array([
                "url": "string", "wait": "integer", "fetch": "integer", "transcode": "integer", "store": "integer",
            ]),
            "largest": array(["url": "string", "bytes": "integer"]),
            "variants": array([
                "name": "string", "files": "integer", "made": "integer", "bytes": "integer", "originals": "integer",
            ]),
            "causes": array([
                "domain": "string", "code": "integer", "status": "integer?", "items": "integer", "origins": "integer",
                "meaning": "string", "action": "string", "message": "string", "examples": "string[]",
            ]),
        ]
        var properties: JSONObject = [:]
        for (name, schema) in parts { properties[name] = schema }
        return DashboardOpenAPI.object(properties, required: parts.keys.sorted())
    }

    /// Of the run before, or null.
    static var previous: JSONObject {
        ["anyOf": [DashboardOpenAPI.line(of: "status"), ["type": "null"] as JSONObject]]
    }
}

extension PostgresJobQueue {
    /// The run before of a batch with a name; nil when there is none, or it is past its retention.
    func previousRun(of progress: BatchProgress) async throws(QueueError) -> BatchProgress? {
        guard let name = progress.name, progress.run > 1 else { return nil }
        do throws(QueueError) {
            return try await self.progress(of: .name("\(name)@\(progress.run - 1)"))
        } catch {
            guard error.code == .unknownBatch else { throw error }
            return nil
        }
    }
}
