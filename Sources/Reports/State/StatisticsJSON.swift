package import JobQueue
package import Terminal

extension BatchStatistics {
    /// The statistics of a report and of the page of a batch, for which they come from a sample.
    ///
    /// - Parameter batch: the name in advice; nil for several batches.
    package func json(of batch: String?) -> JSONObject {
        [
            "records": records, "startedAt": startedAt, "slotMilliseconds": slotMilliseconds,
            "timeline": timeline.map { slot in
                [
                    "slot": slot.slot, "succeeded": slot.succeeded, "skipped": slot.skipped, "wait": slot.wait,
                    "fetch": slot.fetch, "transcode": slot.transcode, "store": slot.store,
                ] as JSONObject
            },
            "stages": stages.map(\.json),
            "originCount": originCount,
            "origins": origins.map {
                [
                    "origin": $0.origin, "items": $0.items, "failed": $0.failed, "bytesIn": $0.bytesIn,
                    "fetchMs": $0.fetchMs, "wait": $0.wait, "fetch": $0.fetch, "transcode": $0.transcode,
                    "store": $0.store,
                ] as JSONObject
            },
            "slowest": slowest.map(\.json), "largest": largest.map(\.json), "variants": variants.map(\.json),
            "formats": formats.map {
                [
                    "format": $0.format, "originals": $0.originals, "originalBytes": $0.originalBytes,
                    "variants": $0.variants, "variantBytes": $0.variantBytes,
                ] as JSONObject
            },
            "causes": causes.map { $0.json(of: batch) }, "retries": retries.map(\.retryJSON), "blockCount": blockCount,
            "blocks": blocks.map(\.json),
            "options": options.map { ["options": $0.names, "items": $0.items] as JSONObject },
            "workers": workers.map {
                [
                    "name": $0.name, "host": $0.host, "version": $0.version, "slots": $0.slots, "jobs": $0.jobs,
                ] as JSONObject
            },
            "pipelines": pipelines.map { ["name": $0.name, "version": $0.version, "spec": $0.spec] as JSONObject },
        ]
    }
}

extension ErrorCount {
    /// Attempts that failed with this error and were repeated.
    fileprivate var retryJSON: JSONObject {
        let advice = FailureAdvice(domain: domain, code: code, status: nil)
        return ["domain": domain, "code": code, "meaning": advice.meaning, "attempts": items]
    }
}

extension BatchStatistics.Block {
    fileprivate var json: JSONObject {
        [
            "url": ShownURL.masked(url), "domain": domain, "code": code,
            "meaning": FailureAdvice(domain: domain, code: code, status: nil).meaning, "fails": fails, "until": until,
        ]
    }
}

extension BatchStatistics.StageTimes {
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
        [
            "name": name, "files": files, "made": made, "bytes": bytes, "originals": originals, "budget": budget,
            "overBudget": overBudget,
        ]
    }
}

extension BatchStatistics.FailureCause {
    fileprivate func json(of batch: String?) -> JSONObject {
        let advice = FailureAdvice(domain: domain, code: code, status: status)
        return [
            "domain": domain, "code": code, "status": status, "items": items, "origins": origins,
            "meaning": advice.meaning, "action": advice.action(for: batch),
            "message": FailureLine.message(message, of: examples.first ?? ""),
            "examples": examples.map(ShownURL.masked),
            "byOrigin": byOrigin.map { ["origin": $0.origin, "items": $0.items] as JSONObject },
        ]
    }
}
