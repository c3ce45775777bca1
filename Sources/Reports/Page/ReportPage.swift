import FoundationEssentials
import ImageModel
package import JobQueue
import Terminal

/// The report of batches as one HTML file, which needs no other file: mailed, opened from disk or served.
package struct ReportPage {
    /// The batches; one, or all of a span of time.
    package let reports: [BatchReport]
    package let statistics: BatchStatistics
    /// The run of the same name before, of a report on one batch.
    let previous: PreviousRun?
    package let title: String
    var gallery: ReportGallery
    /// Whether `larder serve` answers with the page, which then shows files of the cache.
    package let isServed: Bool

    /// Most bytes of the page: URLs and keys up to `ReportGallery.maxBytes`, pictures up to here.
    package static let maxBytes = 5_000_000

    /// The page.
    package func text() throws -> String {
        let counts = ReportCounts(reports)
        let policy =
            "default-src 'none'; img-src data:\(isServed ? " 'self'" : ""); style-src '\(Self.styleHash)'; "
            + "script-src '\(Self.scriptHash)'; base-uri 'none'; form-action 'none'"
        // A batch without images has nothing to show in any section.
        let isEmpty = counts.total == 0 && reports.count == 1
        let sections: [(id: String, title: String, content: String)] = [
            ("images", "Images", images), ("failures", "Failures", failures(counts)),
            ("previous", "Previous run", comparison), ("time", "Time", time), ("origins", "Origins", origins),
            ("sizes", "Sizes", sizes), ("retries", "Retries and blocklist", retries),
            ("batches", "Batches", batches), ("settings", "Settings", settings),
        ].filter { !$0.content.isEmpty && !isEmpty }
        var page = """
            <!doctype html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta http-equiv="Content-Security-Policy" content="\(policy)">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta name="referrer" content="no-referrer">
            <title>\(HTML.escaped(title))</title>
            <style>\(Self.style)</style>
            </head>
            <body\(served)>
            <a class="skip" href="#main">Skip to the content</a>
            <header><strong>Larder</strong><nav aria-label="Sections">

            """
        for section in sections {
            let count = section.id == "failures" && counts.failed > 0 ? " <b>\(counts.failed.grouped)</b>" : ""
            page += "<a href=\"#\(section.id)\">\(section.title)\(count)</a>\n"
        }
        page += "</nav></header>\n<main id=\"main\" tabindex=\"-1\">\n"
        page += "<h1\(title.count > 60 ? " class=\"lengthy\"" : "")>\(HTML.escaped(title))</h1>\n"
        page += summary(counts)
        for section in sections {
            page += "<section id=\"\(section.id)\">\n<h2>\(section.title)</h2>\n\(section.content)</section>\n"
        }
        page +=
            "</main>\n<script type=\"application/json\" id=\"data\">\(try gallery.json())</script>\n"
        return page + "<script>\(Self.script)</script>\n</body>\n</html>\n"
    }

    private static let style = PageResource.reportStyle
    private static let script = PageResource.reportScript

    /// What a Content-Security-Policy that allows the page needs.
    package static let styleHash = hash(style), scriptHash = hash(script)

    private static func hash(_ text: String) -> String {
        var digest = SHA256Digest()
        Array(text.utf8).withUnsafeBytes { digest.update($0) }
        return "sha256-" + Data(digest.finish()).base64EncodedString()
    }

    /// The batch whose files the server has.
    private var served: String {
        guard isServed, let batch = reports.first?.progress.id else { return "" }
        return " data-served=\"\(batch)\""
    }

    private func summary(_ counts: ReportCounts) -> String {
        var page = ""
        if let progress = reports.first?.progress, reports.count == 1 {
            page += "<p><span class=\"state \(Self.kind(progress))\">\(progress.stateText)</span>"
            page += "<span class=\"quiet\">opened \(Self.time(progress.openedAt))"
            if let finished = progress.finishedAt { page += ", finished \(Self.time(finished))" }
            page += "</span></p>\n"
        }
        guard counts.total > 0 else { return page + "<p class=\"empty\">\(emptiness)</p>\n" }
        page += "<p class=\"sentence\">\(HTML.escaped(sentence))</p>\n"
        page += Chart.shares(
            [
                Chart.Part(value: counts.succeeded, kind: "good"), Chart.Part(value: counts.failed, kind: "bad"),
                Chart.Part(value: counts.cancelled, kind: "quiet"), Chart.Part(value: counts.open, kind: "none"),
            ],
            "\(counts.succeeded.grouped) succeeded, \(counts.failed.grouped) failed, "
                + "\(counts.cancelled.grouped) cancelled, \(counts.open.grouped) open")
        page += "<p class=\"keys\">"
        let kinds = [
            ("good", counts.succeeded, "succeeded"), ("bad", counts.failed, "failed"),
            ("quiet", counts.cancelled, "cancelled"), ("none", counts.open, "open"),
        ]
        for (kind, count, name) in kinds where count > 0 || kind == "good" {
            page += Chart.key(kind, "<b>\(count.grouped)</b> \(name)")
        }
        return page + "</p>\n" + reasons(counts) + HTML.tiles(tiles(counts))
    }

    /// The text of a page without images.
    private var emptiness: String {
        guard reports.count == 1, let progress = reports.first?.progress else {
            return "No image was enqueued in this time."
        }
        guard progress.state == .open else { return "No image was enqueued in this batch." }
        return "No image has been enqueued in this batch yet. "
            + "<code>larder enqueue URL --batch \(HTML.escaped(ShellWord.quoted(progress.displayName)))</code> "
            + "adds one."
    }

    /// The most frequent causes of failures in a line each: the section with all of them is below the images.
    private func reasons(_ counts: ReportCounts) -> String {
        guard counts.failed > counts.discarded, !statistics.causes.isEmpty else { return "" }
        let lines = statistics.causes.prefix(3).map { cause in
            let meaning = FailureAdvice(domain: cause.domain, code: cause.code, status: cause.status).meaning
            return "<li><a href=\"#failures\"><b>\(cause.items.grouped)</b> \(HTML.escaped(meaning))</a></li>\n"
        }
        return "<ul class=\"reasons\">\n\(lines.joined())</ul>\n"
    }

    /// The summary: `1,987 of 2,000 images, 13 failed, 3 variants each, 41.0 s, 718.0 MiB received …`
    package var sentence: String {
        ReportCounts(reports).sentence(
            each: statistics.variantsEach, variantBytes: statistics.variants.reduce(0) { $0 + $1.bytes },
            elapsed: reports.count == 1 ? reports.first?.progress.elapsed : nil)
    }

    private func tiles(_ counts: ReportCounts) -> [(name: String, value: String, kind: String?)] {
        let made = statistics.variants.reduce(0) { $0 + $1.bytes }
        var tiles: [(String, String, String?)] = [
            ("fresh, not loaded again", counts.fresh.grouped, nil), ("discarded", counts.discarded.grouped, nil),
            ("downloads", counts.downloads.grouped, nil), ("received", ByteCount(counts.bytesIn).text, nil),
            ("variants made", counts.variants.grouped, nil), ("in variants", ByteCount(made).text, nil),
            ("retries", counts.retries.grouped, counts.retries > 0 ? "warn" : nil),
        ]
        if let progress = reports.first?.progress, reports.count == 1 {
            tiles.append(("items/s", "\((progress.rate * 10).rounded() / 10)", nil))
            if let p50 = progress.p50 { tiles.append(("median of a job", Self.milliseconds(Int(p50)), nil)) }
            if let p95 = progress.p95 { tiles.append(("95th percentile", Self.milliseconds(Int(p95)), nil)) }
        }
        return tiles.filter { !["0", "0.0", "0 B"].contains($0.1) }
    }

    /// The class of the colour of a batch's state: one with failures has not the colour of success.
    package static func kind(_ progress: BatchProgress) -> String {
        switch progress.state {
        case .finished where progress.failed == progress.total && progress.total > 0: "bad"
        case .finished: progress.failed > 0 ? "warn" : "good"
        case .paused, .cancelled: "warn"
        case .open, .sealed: "active"
        }
    }

    /// `850 ms`, `4.5 s`, `3m 20s`.
    package static func milliseconds(_ value: Int) -> String {
        switch value {
        case ..<1_000: "\(value) ms"
        case ..<60_000: "\(Double(value / 100) / 10) s"
        default: ProgressLine.time(value / 1_000)
        }
    }

    /// A time of ISO 8601, which the script shows as the reader's.
    package static func time(_ text: String) -> String {
        let iso = HTML.escaped(text)
        return "<time datetime=\"\(iso)\" title=\"\(iso)\">\(iso)</time>"
    }

    /// A URL for a cell, its middle left out where it is long.
    package static func url(_ url: String) -> String {
        let text = ShownURL.masked(url)
        let shown = text.count <= 200 ? text : "\(text.prefix(120))…\(text.suffix(60))"
        return "<code>\(HTML.escaped(shown))</code>"
    }
}
