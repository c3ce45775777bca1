import JobQueue

/// The counts of one or several batches.
struct ReportCounts {
    private(set) var total = 0, open = 0, succeeded = 0, failed = 0, cancelled = 0, discarded = 0
    private(set) var fresh = 0, retries = 0
    private(set) var downloads = 0, variants = 0, bytesIn = 0, bytesOut = 0

    init(_ reports: [BatchReport]) {
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

    /// `1,987 of 2,000 images, 13 failed: 718.0 MiB received, 178.0 MiB stored`.
    var sentence: String {
        var text = "\(succeeded.grouped) of \(total.grouped) \(total == 1 ? "image" : "images")"
        if failed > 0 { text += ", \(failed.grouped) failed" }
        if cancelled > 0 { text += ", \(cancelled.grouped) cancelled" }
        if open > 0 { text += ", \(open.grouped) open" }
        text += ": \(ByteCount(bytesIn).text) received, \(ByteCount(bytesOut).text) stored"
        if variants > 0 { text += " with \(variants.grouped) \(variants == 1 ? "variant" : "variants")" }
        return text
    }
}

extension Int {
    /// `1,987`.
    var grouped: String {
        var digits = Array(String(magnitude))
        var place = digits.count - 3
        while place > 0 {
            digits.insert(",", at: place)
            place -= 3
        }
        return (self < 0 ? "-" : "") + String(digits)
    }
}
