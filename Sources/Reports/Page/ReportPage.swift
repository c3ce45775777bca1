import FoundationEssentials
import ImageModel
package import JobQueue
import Terminal

/// A report on batches as one self-contained HTML file: data as JSON, and the script and styles that show it.
package struct ReportPage {
    /// One batch, or all batches of a period.
    package let reports: [BatchReport]
    let findings: ReportFindings
    package let title: String
    var gallery: ReportGallery

    /// Maximum bytes of a page with short rows, and of the pictures in any other page.
    package static let maxBytes = 5_000_000, maxPictureBytes = 2_000_000

    /// The page. The first part of the images precedes the script, which shows it while the browser reads the rest.
    package func text() throws -> String {
        let policy =
            "default-src 'none'; img-src data:; style-src '\(Self.styleHash)'; script-src '\(Self.scriptHash)'; "
            + "base-uri 'none'; form-action 'none'"
        let parts = gallery.json.map { "<script type=\"application/json\" class=\"images\">\($0)</script>\n" }
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
            \(parts.first ?? "")<script>\(PageResource.reportScript)</script>
            \(parts.dropFirst().joined())</body>
            </html>

            """
    }

    /// The sections' data, as in `report --format json`.
    private var json: JSONObject {
        [
            "title": title, "counts": ReportCounts(reports).json, "statistics": findings.json,
            "showsCodes": Console.showsCodes, "parts": gallery.json.count,
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

    /// For mail: `1,987 of 2,000 images, 13 failed, 3 variants each, 41.0 s, 718.0 MiB received …`
    var sentence: String {
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
