import Concurrency
import ImageModel
package import JobQueue
import Prefetcher
package import Terminal

/// A report's findings in addition to its counts, in forms other than a page.
package struct ReportFindings {
    package let statistics: BatchStatistics
    let previous: PreviousRun?

    /// The object `statistics` of `report --format json`.
    ///
    /// - Parameter batch: the name in advice; nil for several batches.
    package func json(of batch: String?) -> JSONObject {
        statistics.json(of: batch).merging(["previous": previous?.json])
    }

    /// The budgets that files miss, a line per variant: `variant card: 3 over the budget of 100.0 KiB`.
    package var missedBudgets: [String] {
        statistics.variants.compactMap { variant in
            variant.missedBudget.map { "variant \(PrintableText.text(variant.name)): \($0)" }
        }
    }

    /// Lines for a terminal, indented like the counts above them.
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
            let missed = variant.missedBudget.map { ", \($0)" } ?? ""
            lines.append("variant \(PrintableText.text(variant.name)): \(files), \(sizes)\(missed)")
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

extension BatchStatistics.VariantSize {
    /// `3 over the budget of 100.0 KiB`; nil without a budget, and where every file keeps it.
    fileprivate var missedBudget: String? {
        guard let budget, overBudget > 0 else { return nil }
        return "\(overBudget.grouped) over the budget of \(ByteCount(budget).text)"
    }
}

extension BatchStatistics.UsedOptions {
    package var names: [String] { LoadOptions(rawValue: UInt64(bitPattern: Int64(options))).names }
}

/// The previous run of the same name.
struct PreviousRun {
    let progress: BatchProgress
    let changes: RunComparison

    fileprivate var json: JSONObject {
        [
            "run": progress.run, "batch": progress.displayName, "batchID": progress.id, "openedAt": progress.openedAt,
            "total": progress.total, "succeeded": progress.succeeded, "failed": progress.failed,
            "fresh": progress.fresh, "retries": progress.retries, "bytesIn": progress.bytesIn,
            "bytesOut": progress.bytesOut, "seconds": Double(progress.elapsed.milliseconds) / 1000,
            "p50Ms": progress.p50, "p95Ms": progress.p95, "newlyFailed": changes.newlyFailed,
            "newlyFailedURLs": changes.newlyFailedURLs.map(ShownURL.masked), "fixed": changes.fixed,
            "fixedURLs": changes.fixedURLs.map(ShownURL.masked),
        ]
    }
}
