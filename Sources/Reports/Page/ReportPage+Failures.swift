import ImageModel
import JobQueue
import Terminal

/// The section with the failures by cause.
extension ReportPage {
    /// The causes that are seen at once.
    private static let shownCauses = 10

    package func failures(_ counts: ReportCounts) -> String {
        guard counts.failed > counts.discarded else {
            return
                "<p class=\"quiet\">\(counts.failed == 0 ? "No image failed." : "All failures were discarded.")</p>\n"
        }
        let rest = Array(statistics.causes.dropFirst(Self.shownCauses))
        let page = causes(Array(statistics.causes.prefix(Self.shownCauses)))
        guard !rest.isEmpty else { return page }
        return page + "<details><summary>\(rest.count.counted("more cause"))</summary>\n\(causes(rest))</details>\n"
    }

    private func causes(_ causes: [BatchStatistics.FailureCause]) -> String {
        "<div class=\"causes\">\n"
            + HTML.table(
                "Failures by cause", [.number("Items"), .text("Cause and what to do"), .text("Origins")],
                causes.map { cause in
                    ["<b class=\"bad\">\(cause.items.grouped)</b>", text(cause), origins(cause)]
                }) + "</div>\n"
    }

    /// What failed, what to do, the message, and the URL; several URLs when they are opened.
    private func text(_ cause: BatchStatistics.FailureCause) -> String {
        let advice = FailureAdvice(domain: cause.domain, code: cause.code, status: cause.status)
        let message = FailureLine.message(cause.message, of: cause.examples.first ?? "")
        let page = """
            <b>\(HTML.escaped(advice.meaning))</b><br>
            <span class="action">\(Self.advice(advice.action, batch: batchName))</span>
            <p class="quiet">\(HTML.escaped(message))\(Self.code(cause.domain, cause.code))</p>

            """
        if cause.items == 1, let url = cause.examples.first { return page + Self.url(url) }
        let first = cause.examples.count < cause.items ? "First " : ""
        return page + "<details><summary>\(first)\(cause.examples.count.counted("URL"))</summary>\n<ul>\n"
            + cause.examples.map { "<li>\(Self.url($0))</li>\n" }.joined() + "</ul></details>"
    }

    private func origins(_ cause: BatchStatistics.FailureCause) -> String {
        guard !cause.byOrigin.isEmpty else { return "–" }
        var lines = cause.byOrigin.map { origin in
            let count =
                origin.items < cause.items ? " <span class=\"quiet\">\(origin.items.counted("item"))</span>" : ""
            return "<code>\(HTML.escaped(origin.origin))</code>\(count)"
        }
        let rest = cause.origins - cause.byOrigin.count
        if rest > 0 { lines.append("and \(rest.counted("more origin"))") }
        return lines.joined(separator: "<br>\n")
    }

    /// The name of the one batch, for commands; nil for several.
    private var batchName: String? { reports.count == 1 ? reports.first?.progress.displayName : nil }

    /// Advice as markup: commands and options as code, with the batch's name.
    package static func advice(_ text: String, batch: String?) -> String {
        let code =
            #/
            larder\ ([a-z]+) (?:\ ([a-z]+))? (?:\ (?:BATCH|URL|DURATION))? (?:\ --[a-z-]+)*
            | --[a-z-]+ (?:\ (?:CIDR|N\b|RetryFailed))?
            /#
        var page = ""
        var rest = text[...]
        while let match = rest.firstMatch(of: code) {
            page += HTML.escaped(String(rest[..<match.range.lowerBound]))
            var end = match.range.upperBound
            // The second word may be the sentence's: `larder health shows it`.
            if let first = match.1, match.2 != nil, !families.contains(first) { end = first.endIndex }
            var command = String(rest[match.range.lowerBound..<end])
            if let batch { command = command.replacing("BATCH", with: ShellWord.quoted(batch)) }
            page += "<code>\(HTML.escaped(command))</code>"
            rest = rest[end...]
        }
        return page + HTML.escaped(String(rest))
    }

    /// The first words of commands of two words.
    private static let families: Set<Substring> = [
        "blocklist", "cache", "config", "db", "origin", "pipeline", "queue", "schedule",
    ]
}
