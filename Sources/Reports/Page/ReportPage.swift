import FoundationEssentials
import ImageModel
package import JobQueue
package import Terminal

/// A report on batches as one self-contained HTML file: data as JSON, and the script and styles that show it.
package struct ReportPage {
    /// One batch, or all batches of a period.
    package let reports: [BatchReport]
    package let title: String

    /// Maximum bytes of a page with short rows, and of the pictures in any other page.
    package static let maxBytes = 5_000_000, maxPictureBytes = 2_000_000

    /// The beginning of the page: the counts, and the script that shows what follows as the browser reads it.
    func head() throws -> String {
        let policy =
            "default-src 'none'; img-src data:; style-src '\(Self.styleHash)'; script-src '\(Self.scriptHash)'; "
            + "base-uri 'none'; form-action 'none'"
        let data = String(decoding: ScriptJSON(json: try JSONLine.text(json)).bytes, as: UTF8.self)
        let command = "larder report \(batch.map(ShellWord.quoted) ?? "--since") --format text"
        return """
            <!doctype html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta http-equiv="Content-Security-Policy" content="\(policy)">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta name="referrer" content="no-referrer">
            <title>\(HTML.escaped(title))</title>
            <style>\(PageResource.style)</style>
            </head>
            <body class="report">
            <a class="skip" href="#main">Skip to the content</a>
            <header><strong>Larder</strong><nav aria-label="Sections"></nav></header>
            <main id="main" tabindex="-1"></main>
            <noscript><p>This report needs JavaScript; <code>\(HTML.escaped(command))</code> does not.</p></noscript>
            <script type="application/json" id="report">\(data)</script>
            <script>\(PageResource.reportScript)</script>

            """
    }

    /// Data for the script after the head.
    ///
    /// - Parameters:
    ///   - kind: `images`, `statistics` or `pictures`.
    ///   - json: JSON that is safe in a script element.
    static func element(_ kind: String, _ json: String) -> String {
        "<script type=\"application/json\" class=\"\(kind)\">\(json)</script>\n"
    }

    /// The data of the sections, which are as in `report --format json`. The script puts the batch's name into advice.
    func statistics(_ findings: ReportFindings) throws -> String {
        let json = try JSONLine.text(findings.json(of: reports.count == 1 ? "BATCH" : nil))
        return Self.element("statistics", String(decoding: ScriptJSON(json: json).bytes, as: UTF8.self))
    }

    static let end = "</body>\n</html>\n"

    /// The end of a page that cannot be completed.
    package static func end(after error: CommandError) -> String {
        "<p class=\"empty\">The report is incomplete: \(HTML.escaped(error.message))</p>\n\(end)"
    }

    private var json: JSONObject {
        [
            "title": title, "counts": ReportCounts(reports).json, "showsCodes": Console.showsCodes,
            "batches": reports.map { $0.progress.json.merging(["title": $0.progress.title]) },
        ]
    }

    /// The batch's name; nil for several batches.
    var batch: String? { reports.count == 1 ? reports[0].progress.displayName : nil }

    /// Hashes for a Content-Security-Policy that allows the page.
    package static let styleHash = hash(PageResource.style), scriptHash = hash(PageResource.reportScript)

    private static func hash(_ text: String) -> String {
        var digest = SHA256Digest()
        Array(text.utf8).withUnsafeBytes { digest.update($0) }
        return "sha256-" + Data(digest.finish()).base64EncodedString()
    }

    /// The summary for mail: `1,987 of 2,000 images, 13 failed, 3 variants each, 41.0 s, 718.0 MiB received …`
    func sentence(_ findings: ReportFindings) -> String {
        ReportCounts(reports).sentence(
            each: findings.statistics.variantsEach,
            variantBytes: findings.statistics.variants.reduce(0) { $0 + $1.bytes },
            elapsed: reports.count == 1 ? reports.first?.progress.elapsed : nil)
    }
}

/// Escapes text for markup.
package enum HTML {
    /// Safe between tags and in quoted attributes; control characters and direction marks are escaped.
    package static func escaped(_ text: String) -> String {
        var result = ""
        for character in PrintableText.text(text).unicodeScalars {
            switch character {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "'": result += "&#39;"
            default: result.unicodeScalars.append(character)
            }
        }
        return result
    }
}

/// The scripts and stylesheets of `Resources`, embedded in the program. Scripts use declarations of earlier ones.
package enum PageResource {
    /// For the report and the dashboard.
    package static let style = EmbeddedText.page_css + EmbeddedText.images_css
    /// A batch's elements, charts, sections and images, for the report and the dashboard.
    package static let script =
        EmbeddedText.page_js + EmbeddedText.charts_js + EmbeddedText.sections_js + EmbeddedText.images_js
    static let reportScript = script + EmbeddedText.report_js
}
