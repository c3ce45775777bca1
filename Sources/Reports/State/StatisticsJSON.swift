package import JobQueue
package import Terminal

extension BatchStatistics {
    /// The object of the page of a batch, from a sample.
    package var sampleJSON: JSONObject {
        [
            "jobs": records,
            "slotMilliseconds": slotMilliseconds,
            "timeline": timeline.map {
                ["slot": $0.slot, "succeeded": $0.succeeded, "skipped": $0.skipped] as JSONObject
            },
            "stages": stages.map(\.json),
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

extension BatchStatistics.StageTimes {
    /// The stage in words.
    package var title: String {
        [
            "wait": "wait for the pipeline", "dns": "wait for DNS", "connection_wait": "wait for a connection",
            "transcoder_wait": "wait for a transcoder", "store": "commit to the cache",
        ][stage] ?? stage
    }

    package var json: JSONObject { ["stage": stage, "title": title, "p50": p50, "p95": p95, "p99": p99] }
}

extension BatchStatistics.SlowJob {
    package var json: JSONObject {
        ["url": ShownURL.masked(url), "wait": wait, "fetch": fetch, "transcode": transcode, "store": store]
    }
}

extension BatchStatistics.LargeOriginal {
    package var json: JSONObject { ["url": ShownURL.masked(url), "bytes": bytes] }
}

extension BatchStatistics.VariantSize {
    package var json: JSONObject {
        ["name": name, "files": files, "made": made, "bytes": bytes, "originals": originals]
    }
}

extension BatchStatistics.FailureCause {
    package var json: JSONObject {
        let advice = FailureAdvice(domain: domain, code: code, status: status)
        return [
            "domain": domain, "code": code, "status": status, "items": items, "origins": origins,
            "meaning": advice.meaning, "action": advice.action,
            "message": FailureLine.message(message, of: examples.first ?? ""),
            "examples": examples.map(ShownURL.masked),
        ]
    }
}
