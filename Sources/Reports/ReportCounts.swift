import Concurrency
import ImageModel
package import JobQueue
package import Terminal

/// The counts of one or several batches.
package struct ReportCounts {
    package private(set) var total = 0, open = 0, succeeded = 0, failed = 0, cancelled = 0, discarded = 0
    package private(set) var fresh = 0, retries = 0
    package private(set) var downloads = 0, variants = 0, bytesIn = 0, bytesOut = 0

    package init(_ reports: [BatchReport]) {
        for report in reports {
            let progress = report.progress
            total += progress.total
            open += progress.open
            succeeded += progress.succeeded
            failed += progress.failed
            cancelled += progress.cancelled
            discarded += report.discarded
            fresh += progress.fresh
            retries += progress.retries
            downloads += progress.downloads
            variants += progress.variants
            bytesIn += progress.bytesIn
            bytesOut += progress.bytesOut
        }
    }

    /// For `report --since --format json`.
    package var json: JSONObject {
        [
            "total": total, "finished": total - open, "skipped": failed + cancelled, "open": open,
            "succeeded": succeeded, "failed": failed, "cancelled": cancelled, "discarded": discarded, "fresh": fresh,
            "retries": retries, "downloads": downloads, "variants": variants, "bytesIn": bytesIn, "bytesOut": bytesOut,
        ]
    }

    /// `1,987 of 2,000 images, 13 failed, 3 variants each, 41.0 s, 718.0 MiB received, 178.0 MiB of variants.`
    ///
    /// - Parameters:
    ///   - each: variants per image; nil if they differ, or there are none.
    ///   - elapsed: nil for several batches.
    package func sentence(each: Int?, variantBytes: Int, elapsed: Duration?) -> String {
        var text = "\(succeeded.grouped) of \(total.grouped) \(total == 1 ? "image" : "images")"
        if failed > 0 { text += ", \(failed.grouped) failed" }
        if cancelled > 0 { text += ", \(cancelled.grouped) cancelled" }
        if open > 0 { text += ", \(open.grouped) open" }
        if let each {
            text += ", \(each.counted("variant")) each"
        } else if variants > 0 {
            text += ", \(variants.counted("variant"))"
        }
        if let elapsed { text += ", \(Self.time(elapsed))" }
        text += ", \(ByteCount(bytesIn).text) received"
        if variantBytes > 0 { text += ", \(ByteCount(variantBytes).text) of variants" }
        return text + "."
    }

    /// `850 ms`, `4.5 s`, `3m 20s`.
    private static func time(_ elapsed: Duration) -> String {
        switch Int(elapsed.milliseconds) {
        case let value where value < 1_000: "\(value) ms"
        case let value where value < 60_000: "\(Double(value / 100) / 10) s"
        case let value: ProgressLine.time(value / 1_000)
        }
    }
}

extension Int {
    /// `1,987`.
    package var grouped: String {
        var digits = Array(String(magnitude))
        var place = digits.count - 3
        while place > 0 {
            digits.insert(",", at: place)
            place -= 3
        }
        return (self < 0 ? "-" : "") + String(digits)
    }
}

extension BatchStatistics {
    /// Variants per image, if all jobs used the same pipeline with variants; otherwise nil.
    package var variantsEach: Int? {
        guard pipelines.count == 1, let spec = try? JSONValue.parse(Array(pipelines[0].spec.utf8)),
            case .object(let fields) = spec, case .array(let variants)? = fields["variants"], !variants.isEmpty
        else { return nil }
        return variants.count
    }
}
