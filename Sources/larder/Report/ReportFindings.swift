import Concurrency
import ImageModel
import JobQueue
import Prefetcher

/// What a report says beside its counts, in forms other than a page.
struct ReportFindings {
    let statistics: BatchStatistics
    let previous: PreviousRun?

    /// The object `statistics` of `report --format json`. Names are those of the dashboard's API.
    var json: JSONObject {
        let statistics = statistics
        return [
            "startedAt": statistics.startedAt, "slotMilliseconds": statistics.slotMilliseconds,
            "timeline": statistics.timeline.map { slot in
                [
                    "slot": slot.slot, "succeeded": slot.succeeded, "skipped": slot.skipped, "wait": slot.wait,
                    "fetch": slot.fetch, "transcode": slot.transcode, "store": slot.store,
                ] as JSONObject
            },
            "stages": statistics.stages.map {
                ["stage": $0.stage, "p50": $0.p50, "p95": $0.p95, "p99": $0.p99] as JSONObject
            },
            "originCount": statistics.originCount,
            "origins": statistics.origins.map { origin in
                [
                    "origin": origin.origin, "items": origin.items, "failed": origin.failed, "bytesIn": origin.bytesIn,
                    "fetchMs": origin.fetchMs,
                ] as JSONObject
            },
            "slowest": statistics.slowest.map { job in
                [
                    "url": ShownURL.masked(job.url), "wait": job.wait, "fetch": job.fetch, "transcode": job.transcode,
                    "store": job.store,
                ] as JSONObject
            },
            "largest": statistics.largest.map { ["url": ShownURL.masked($0.url), "bytes": $0.bytes] as JSONObject },
            "variants": statistics.variants.map { variant in
                [
                    "name": variant.name, "files": variant.files, "bytes": variant.bytes,
                    "originals": variant.originals,
                ] as JSONObject
            },
            "causes": statistics.causes.map(Self.json),
            "retries": statistics.retries.map {
                ["domain": $0.domain, "code": $0.code, "attempts": $0.items] as JSONObject
            },
            "blockCount": statistics.blockCount,
            "blocks": statistics.blocks.map { block in
                [
                    "url": ShownURL.masked(block.url), "domain": block.domain, "code": block.code,
                    "fails": block.fails, "until": block.until,
                ] as JSONObject
            },
            "options": statistics.options.map {
                ["options": $0.names, "items": $0.items] as JSONObject
            },
            "workers": statistics.workers.map { worker in
                [
                    "name": worker.name, "host": worker.host, "version": worker.version, "slots": worker.slots,
                    "jobs": worker.jobs,
                ] as JSONObject
            },
            "pipelines": statistics.pipelines.map { ["name": $0.name, "version": $0.version] as JSONObject },
            "previous": previous?.json,
        ]
    }

    private static func json(_ cause: BatchStatistics.FailureCause) -> JSONObject {
        let advice = FailureAdvice(domain: cause.domain, code: cause.code, status: cause.status)
        return [
            "domain": cause.domain, "code": cause.code, "status": cause.status, "items": cause.items,
            "meaning": advice.meaning, "action": advice.action, "origins": cause.origins,
            "message": FailureLine.message(cause.message, of: cause.examples.first ?? ""),
            "examples": cause.examples.map(ShownURL.masked),
            "byOrigin": cause.byOrigin.map { ["origin": $0.origin, "items": $0.items] as JSONObject },
        ]
    }

    /// A few lines for a terminal, each indented like the counts above them.
    var text: String {
        var lines: [String] = []
        for stage in statistics.stages {
            guard let p50 = stage.p50, let p95 = stage.p95, let p99 = stage.p99 else { continue }
            lines.append("\(stage.stage): p50 \(p50) ms, p95 \(p95) ms, p99 \(p99) ms")
        }
        for variant in statistics.variants {
            let sizes = "\(ByteCount(variant.bytes).text) of \(ByteCount(variant.originals).text)"
            lines.append("variant \(PrintableText.text(variant.name)): \(variant.files.counted("file")), \(sizes)")
        }
        for origin in statistics.origins.prefix(5) where origin.failed > 0 {
            lines.append("origin \(PrintableText.text(origin.origin)): \(origin.failed) of \(origin.items) failed")
        }
        if statistics.blockCount > 0 {
            lines.append("blocklist: \(statistics.blockCount.counted("URL")) blocked by these failures")
        }
        if let previous {
            let (changes, before) = (previous.changes, previous.progress)
            lines.append(
                "compared with run \(before.run): \(before.failed) failed then, \(changes.newlyFailed) newly failed, "
                    + "\(changes.fixed) fixed")
        }
        return lines.map { "  \($0)\n" }.joined()
    }
}

extension BatchStatistics.UsedOptions {
    /// The names of the options.
    var names: [String] { LoadOptions(rawValue: UInt64(bitPattern: Int64(options))).names }
}

extension PreviousRun {
    fileprivate var json: JSONObject {
        [
            "run": progress.run, "batchID": progress.id, "total": progress.total, "succeeded": progress.succeeded,
            "failed": progress.failed, "seconds": Double(progress.elapsed.milliseconds) / 1000, "p50Ms": progress.p50,
            "p95Ms": progress.p95, "newlyFailed": changes.newlyFailed,
            "newlyFailedURLs": changes.newlyFailedURLs.map(ShownURL.masked), "fixed": changes.fixed,
            "fixedURLs": changes.fixedURLs.map(ShownURL.masked),
        ]
    }
}
