import Foundation
import ImageModel
import JobQueue

/// The report of batches as one HTML file, which needs no other file: mailed, opened from disk or served.
struct ReportPage {
    /// The batches; one, or those of a span of time.
    let reports: [BatchReport]
    let statistics: BatchStatistics
    /// The run of the same name before, of a report on one batch.
    let previous: BatchProgress?
    let title: String
    var gallery: ReportGallery
    /// Whether `larder serve` answers with the page, which then shows files of the cache.
    let isServed: Bool

    /// What the page takes at most: URLs and keys up to `ReportGallery.maxBytes`, pictures up to here.
    static let maxBytes = 5_000_000

    /// The page.
    func text() throws -> String {
        let counts = ReportCounts(reports)
        let policy =
            "default-src 'none'; img-src data:\(isServed ? " 'self'" : ""); style-src '\(Self.styleHash)'; "
            + "script-src '\(Self.scriptHash)'; base-uri 'none'; form-action 'none'"
        let sections: [(id: String, title: String, content: String)] = [
            ("images", "Images", images), ("failures", "Failures", failures(counts)),
            ("time", "Time", time), ("origins", "Origins", origins), ("sizes", "Sizes", sizes),
            ("previous", "Previous run", comparison), ("batches", "Batches", batches),
            ("settings", "Pipelines", settings),
        ].filter { !$0.content.isEmpty }
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
            <body\(isServed ? " data-served" : "")>
            <a class="skip" href="#main">Skip to the content</a>
            <header><strong>Larder</strong><nav aria-label="Sections">

            """
        for section in sections { page += "<a href=\"#\(section.id)\">\(section.title)</a>\n" }
        page += "</nav></header>\n<main id=\"main\" tabindex=\"-1\">\n<h1>\(HTML.escaped(title))</h1>\n"
        page += summary(counts)
        for section in sections {
            page += "<section id=\"\(section.id)\">\n<h2>\(section.title)</h2>\n\(section.content)</section>\n"
        }
        page +=
            "</main>\n<script type=\"application/json\" id=\"data\">\(try gallery.json())</script>\n"
        return page + "<script>\(Self.script)</script>\n</body>\n</html>\n"
    }

    private static let style = PageStyle.text + ReportStyle.text
    private static let script = PageScript.text + ReportImageScript.text + ReportScript.text

    /// What a Content-Security-Policy that allows the page needs.
    static let styleHash = hash(style), scriptHash = hash(script)

    private static func hash(_ text: String) -> String {
        var digest = SHA256Digest()
        Array(text.utf8).withUnsafeBytes { digest.update($0) }
        return "sha256-" + Data(digest.finish()).base64EncodedString()
    }

    private func summary(_ counts: ReportCounts) -> String {
        var page = ""
        if let progress = reports.first?.progress, reports.count == 1 {
            page += "<p><span class=\"state \(Self.kind(progress.state))\">\(progress.state.rawValue)</span>"
            page += "<span class=\"quiet\">, opened \(Self.time(progress.openedAt))"
            if let finished = progress.finishedAt { page += ", finished \(Self.time(finished))" }
            page += "</span></p>\n"
        }
        page += "<p class=\"sentence\">\(HTML.escaped(counts.sentence)).</p>\n"
        page += Chart.shares(
            [
                Chart.Part(value: counts.succeeded, kind: "good"), Chart.Part(value: counts.failed, kind: "bad"),
                Chart.Part(value: counts.cancelled, kind: "quiet"), Chart.Part(value: counts.open, kind: "none"),
            ],
            "\(counts.succeeded.grouped) succeeded, \(counts.failed.grouped) failed, "
                + "\(counts.cancelled.grouped) cancelled, \(counts.open.grouped) open")
        let discarded = counts.discarded > 0 ? ", \(counts.discarded.grouped) of them discarded" : ""
        var tiles: [(String, String, String?)] = [
            ("succeeded", counts.succeeded.grouped, counts.succeeded > 0 ? "good" : nil),
            ("failed\(discarded)", counts.failed.grouped, counts.failed > 0 ? "bad" : nil),
            ("cancelled", counts.cancelled.grouped, nil), ("open", counts.open.grouped, nil),
            ("fresh, not loaded again", counts.fresh.grouped, nil), ("downloads", counts.downloads.grouped, nil),
            ("retries", counts.retries.grouped, counts.retries > 0 ? "warn" : nil),
            ("variants", counts.variants.grouped, nil), ("received", ByteCount(counts.bytesIn).text, nil),
            ("stored", ByteCount(counts.bytesOut).text, nil),
        ]
        if let progress = reports.first?.progress, reports.count == 1 {
            tiles.append(("elapsed", Self.seconds(Int(progress.elapsed.components.seconds)), nil))
            tiles.append(("items per second", "\((progress.rate * 10).rounded() / 10)", nil))
        }
        return page + HTML.tiles(tiles.filter { $0.1 != "0" || ["succeeded", "failed"].contains($0.0) })
    }

    private func failures(_ counts: ReportCounts) -> String {
        guard counts.failed > counts.discarded else {
            return
                "<p class=\"quiet\">\(counts.failed == 0 ? "No image failed." : "All failures were discarded.")</p>\n"
        }
        let shown = statistics.causes.prefix(Self.shownCauses).map(cause).joined()
        let rest = statistics.causes.dropFirst(Self.shownCauses)
        guard !rest.isEmpty else { return shown }
        return shown + "<details><summary>\(rest.count.counted("more cause"))</summary>\n"
            + rest.map(cause).joined() + "</details>\n"
    }

    /// The causes that are seen at once.
    private static let shownCauses = 8

    /// What failed and what to do in a line or two; the message and examples when it is opened.
    private func cause(_ cause: BatchStatistics.FailureCause) -> String {
        let advice = FailureAdvice(domain: cause.domain, code: cause.code, status: cause.status)
        var page = "<details class=\"cause\"\(statistics.causes.count == 1 ? " open" : "")>\n<summary>"
        page += "<b>\(HTML.escaped(advice.meaning))</b> <b class=\"bad\">\(cause.items.grouped)</b> "
        page += "<span class=\"action\">\(HTML.escaped(advice.action))</span></summary>\n<p class=\"quiet\">"
        page += "\(HTML.escaped(FailureLine.message(cause.message, of: cause.examples.first ?? ""))) "
        page += "<code>\(HTML.escaped(cause.domain)) \(cause.code)</code>"
        if cause.origins > 0 { page += ", from \(cause.origins.counted("origin"))" }
        page += "</p>\n<p>\(cause.examples.count < cause.items ? "The first " : "")"
        page += "\(cause.examples.count.counted("URL")):</p>\n<ul>\n"
        for url in cause.examples { page += "<li><code>\(HTML.escaped(ShownURL.masked(url)))</code></li>\n" }
        return page + "</ul></details>\n"
    }

    private static func kind(_ state: BatchProgress.State) -> String {
        switch state {
        case .finished: "good"
        case .paused, .cancelled: "warn"
        case .open, .sealed: ""
        }
    }

    /// `3m 20s`.
    static func seconds(_ seconds: Int) -> String { ProgressText.time(seconds) }

    /// A time of ISO 8601, which the script shows as the reader's.
    static func time(_ text: String) -> String {
        let iso = HTML.escaped(text)
        return "<time datetime=\"\(iso)\" title=\"\(iso)\">\(iso)</time>"
    }

    /// A URL for a cell.
    static func url(_ url: String) -> String { "<code>\(HTML.escaped(ShownURL.masked(url)))</code>" }
}
