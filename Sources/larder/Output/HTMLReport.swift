import Foundation
import ImageModel
import JobQueue

/// The report of a batch as one standalone HTML page: counts, errors, failures and stored images.
struct HTMLReport {
    /// The page links to the images in this cache.
    let cacheRoot: String

    /// The page up to the failures.
    func head(_ report: BatchReport) -> String {
        let progress = report.progress
        let title = Self.escaped("Batch \(progress.title)")
        var page = """
            <!doctype html>
            <html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
            <title>\(title)</title>
            <style>\(Self.style)</style>
            <h1>\(title)</h1>
            <p><b class="state">\(progress.state.rawValue)</b> opened \(Self.time(progress.openedAt))
            """
        if let finished = progress.finishedAt { page += ", finished \(Self.time(finished))" }
        page += "</p>\n<dl>\n"
        for (name, value) in TextReport.numbers(report) {
            page += "<div><dt>\(Self.escaped(name))</dt><dd>\(Self.escaped(value))</dd></div>\n"
        }
        page += "</dl>\n"
        guard !report.errors.isEmpty else { return page }
        page += "<h2>Errors</h2>\n<table><tr><th>Error<th>Items</tr>\n"
        for error in report.errors {
            page += "<tr><td>\(Self.escaped("\(error.domain) \(error.code)"))<td>\(error.items)</tr>\n"
        }
        return page + "</table>\n"
    }

    /// The table of failures; `total` is the number of failed items.
    func failures(_ rows: [FailureRecord], of total: Int) -> String {
        guard !rows.isEmpty else { return "" }
        let items = rows.reduce(0) { $0 + $1.items }
        var page = "<h2>Failures\(items < total ? ", the first \(items) of \(total) items" : "")</h2>\n"
        page += "<table><tr><th>URL<th>Error<th>Message<th>Attempts</tr>\n"
        for row in rows {
            let error = row.error
            page +=
                "<tr><td>\(Self.escaped(ShownURL.text(row.url)))<td>\(Self.escaped("\(error.domain) \(error.code)"))"
            page += "<td>\(Self.escaped(error.message))<td>\(row.attempts)</tr>\n"
        }
        return page + "</table>\n"
    }

    static let galleryStart = "<h2>Stored</h2>\n<div class=\"gallery\">\n"

    /// The end of the page after a gallery of `shown` figures.
    func tail(shown: Int, isCut: Bool) -> String {
        (shown > 0 ? "</div>\n" : "")
            + (isCut ? "<p>These are the first \(shown) jobs; 'larder report --files' lists all.</p>\n" : "")
            + "</html>\n"
    }

    /// The smallest image of a job, its URL, and its files or their errors by name; empty for a job that stored
    /// nothing.
    func figure(_ record: StoredRecord) -> String {
        let files = record.stored.filter { $0.path != nil }
        guard let smallest = files.min(by: { ($0.bytes ?? .max) < ($1.bytes ?? .max) })?.path else { return "" }
        // The dominant colour until the browser has the image, and beside it.
        let color = record.stored.lazy.compactMap(\.digest?.dominantColor).first.flatMap(Color.init(_:))
        let style = color.map { " style=\"background:#\($0.text.suffix(6))\"" } ?? ""
        var page = "<figure><a href=\"\(link(smallest))\">"
        page += "<img loading=\"lazy\" alt=\"\" src=\"\(link(smallest))\"\(style)></a>"
        page += "<figcaption>\(Self.escaped(ShownURL.text(record.url)))<ul>\n"
        for file in record.stored {
            let name = Self.escaped(file.name ?? "original")
            if let path = file.path {
                page += "<li><a href=\"\(link(path))\">\(name)</a>\(Self.escaped(Self.facts(file)))</li>\n"
            } else if let error = file.error {
                page += "<li class=\"bad\">\(name): \(Self.escaped(error.text))</li>\n"
            }
        }
        return page + "</ul></figcaption></figure>\n"
    }

    private func link(_ path: String) -> String {
        Self.escaped(URL(fileURLWithPath: cacheRoot + "/" + path).absoluteString)
    }

    /// ` webp, 200×100, 3.4 KiB`, as far as it is known.
    private static func facts(_ file: StoredFile) -> String {
        var facts = [file.format].compactMap(\.self)
        if let width = file.width, let height = file.height { facts.append("\(width)×\(height)") }
        if let bytes = file.bytes { facts.append(ByteCount(bytes).text) }
        if file.unchanged == true { facts.append("unchanged") }
        return facts.isEmpty ? "" : " " + facts.joined(separator: ", ")
    }

    private static func time(_ text: String) -> String { "<time>\(escaped(text))</time>" }

    /// Text that is safe between tags and in quoted attributes.
    static func escaped(_ text: String) -> String {
        var result = ""
        for character in text.unicodeScalars {
            switch character {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "'": result += "&#39;"
            case _ where character.value < 0x20 || character.value == 0x7F: result += " "
            default: result.unicodeScalars.append(character)
            }
        }
        return result
    }

    private static let style = """

        :root { color-scheme: light dark; --line: #8884; }
        body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 76rem; padding: 0 1rem }
        dl { display: grid; grid-template-columns: repeat(auto-fill, minmax(9rem, 1fr)); gap: .5rem 1.5rem }
        dt { opacity: .7 } dd { margin: 0; font-size: 1.4rem; font-variant-numeric: tabular-nums }
        dl div { border-top: 1px solid var(--line); padding-top: .25rem }
        .state { border: 1px solid var(--line); border-radius: .25rem; padding: 0 .4rem } .bad { color: #c33 }
        table { border-collapse: collapse; width: 100% } td, th { text-align: left; padding: .3rem .6rem .3rem 0;
        border-top: 1px solid var(--line); vertical-align: top; overflow-wrap: anywhere }
        .gallery { display: grid; grid-template-columns: repeat(auto-fill, minmax(12rem, 1fr)); gap: 1rem }
        figure { margin: 0 } img { max-width: 100%; height: 8rem; object-fit: contain; background: #8882 }
        figcaption { font-size: .75rem; overflow-wrap: anywhere } ul { margin: 0; padding-left: 1rem }

        """
}
