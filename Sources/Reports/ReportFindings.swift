import Concurrency
import ImageModel
package import JobQueue
import Prefetcher
package import Terminal

/// What a report says in addition to its counts, in forms other than a page.
package struct ReportFindings {
    package let statistics: BatchStatistics
    let previous: PreviousRun?

    /// The object `statistics` of `report --format json`. Names are as in the dashboard's API.
    package var json: JSONObject {
        let statistics = statistics
        return [
            "startedAt": statistics.startedAt, "slotMilliseconds": statistics.slotMilliseconds,
            "timeline": statistics.timeline.map { slot in
                [
                    "slot": slot.slot, "succeeded": slot.succeeded, "skipped": slot.skipped, "wait": slot.wait,
                    "fetch": slot.fetch, "transcode": slot.transcode, "store": slot.store,
                ] as JSONObject
            },
            "stages": statistics.stages.map(\.json),
            "originCount": statistics.originCount,
            "origins": statistics.origins.map { origin in
                [
                    "origin": origin.origin, "items": origin.items, "failed": origin.failed, "bytesIn": origin.bytesIn,
                    "fetchMs": origin.fetchMs,
                ] as JSONObject
            },
            "slowest": statistics.slowest.map(\.json), "largest": statistics.largest.map(\.json),
            "variants": statistics.variants.map(\.json),
            "causes": statistics.causes.map { cause in
                var line = cause.json
                line["byOrigin"] = cause.byOrigin.map { ["origin": $0.origin, "items": $0.items] as JSONObject }
                return line
            },
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

    /// A few lines for a terminal, each indented like the counts above them.
    package var text: String {
        var lines: [String] = []
        for stage in statistics.stages {
            guard let p50 = stage.p50, let p95 = stage.p95, let p99 = stage.p99 else { continue }
            lines.append("\(stage.title): p50 \(p50) ms, p95 \(p95) ms, p99 \(p99) ms")
        }
        for variant in statistics.variants {
            let old = variant.files - variant.made
            let files = variant.files.counted("file") + (old > 0 ? ", \(old.grouped) of them from the cache" : "")
            let sizes = "\(ByteCount(variant.bytes).text) of \(ByteCount(variant.originals).text)"
            lines.append("variant \(PrintableText.text(variant.name)): \(files), \(sizes)")
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
                "compared with \(PrintableText.text(before.displayName))@\(before.run): "
                    + "\(before.failed) failed then, \(changes.newlyFailed) newly failed, \(changes.fixed) fixed")
        }
        return lines.map { "  \($0)\n" }.joined()
    }
}

extension BatchStatistics.UsedOptions {
    /// The names of the options.
    package var names: [String] { LoadOptions(rawValue: UInt64(bitPattern: Int64(options))).names }
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
