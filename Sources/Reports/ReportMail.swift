import FoundationEssentials
import JobQueue
package import Terminal

/// A report as a MIME message: the summary as text and HTML, and the whole page attached.
package struct ReportMail {
    package let address: String
    private let page: ReportPage
    private let findings: ReportFindings
    private let report: String

    /// Makes the page of a report.
    package init(address: String, source: ReportSource) async throws {
        self.address = address
        page = source.page
        var report = ""
        findings = try await source.writePage(isMailed: true) { report += $0 }
        self.report = report
    }

    /// One address, or several with commas, in printable ASCII.
    ///
    /// - Throws: wrong usage for text that could add a header.
    package static func checked(_ address: String) throws(CommandError) -> String {
        guard address.contains("@"), address.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else {
            throw .usage("report: --mail: '\(PrintableText.text(address))' is not a mail address")
        }
        return address
    }

    package var text: String {
        let counts = ReportCounts(page.reports)
        let boundary = "larder-\(String(UInt64.random(in: 0 ... .max), radix: 36))"
        let inner = boundary + "-body"
        let body = page.reports.map { TextReport.text($0) }.joined(separator: "\n")
        let state = counts.failed > 0 ? "\(counts.failed.grouped) failed" : counts.open > 0 ? "not finished" : "done"
        var mail = "To: \(address)\nSubject: \(Self.header("larder: \(page.title): \(state)"))\n"
        mail += "MIME-Version: 1.0\nAuto-Submitted: auto-generated\n"
        mail += "Content-Type: multipart/mixed; boundary=\"\(boundary)\"\n\n--\(boundary)\n"
        mail += "Content-Type: multipart/alternative; boundary=\"\(inner)\"\n\n"
        mail += Self.part(inner, "text/plain; charset=utf-8", "\(page.sentence(findings))\n\n\(body)")
        mail += Self.part(inner, "text/html; charset=utf-8", page.mailBody(findings)) + "--\(inner)--\n"
        mail += Self.part(
            boundary, "text/html; charset=utf-8; name=\"report.html\"", report,
            disposition: "attachment; filename=\"report.html\"")
        return mail + "--\(boundary)--\n"
    }

    private static func part(_ boundary: String, _ type: String, _ text: String, disposition: String? = nil) -> String {
        let encoded = Data(text.utf8).base64EncodedString(options: [.lineLength76Characters, .endLineWithLineFeed])
        let extra = disposition.map { "Content-Disposition: \($0)\n" } ?? ""
        return "--\(boundary)\nContent-Type: \(type)\n\(extra)Content-Transfer-Encoding: base64\n\n\(encoded)\n"
    }

    /// A header's text as encoded words (RFC 2047), of at most 45 bytes each.
    private static func header(_ text: String) -> String {
        let plain = PrintableText.text(text)
        guard plain.utf8.contains(where: { !(0x20...0x7E).contains($0) }) || plain.utf8.count > 60 else { return plain }
        var words: [String] = []
        var part = ""
        for character in plain {
            if part.utf8.count + character.utf8.count > 45 {
                words.append(part)
                part = ""
            }
            part.append(character)
        }
        words.append(part)
        return words.map { "=?UTF-8?B?\(Data($0.utf8).base64EncodedString())?=" }.joined(separator: "\n ")
    }
}

extension ReportPage {
    /// The summary for mail programs, which show neither scripts nor drawings.
    fileprivate func mailBody(_ findings: ReportFindings) -> String {
        var page = "<!doctype html>\n<html lang=\"en\"><body style=\"font-family: sans-serif\">\n"
        page +=
            "<h1 style=\"font-size: 20px\">\(HTML.escaped(title))</h1>\n<p>\(HTML.escaped(sentence(findings)))</p>\n"
        for cause in findings.statistics.causes {
            let advice = FailureAdvice(domain: cause.domain, code: cause.code, status: cause.status)
            page += "<p><b>\(cause.items.grouped) × \(HTML.escaped(advice.meaning))</b><br>"
            page += "\(HTML.escaped(advice.action(for: batch)))</p>\n<ul>\n"
            for url in cause.examples { page += "<li>\(HTML.escaped(ShownURL.masked(url)))</li>\n" }
            page += "</ul>\n"
        }
        return page + "<p>The attached report.html has charts and pictures.</p>\n</body></html>\n"
    }
}
