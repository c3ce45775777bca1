import ImageModel
import JobQueue
import Terminal

/// What the batch ran with, what was tried again, and what is blocked since.
extension ReportPage {
    package var retries: String {
        var page = ""
        if !statistics.retries.isEmpty {
            page += "<h3>Attempts that failed and were repeated</h3>\n"
            page += HTML.table(
                "Repeated attempts", [.text("Error"), .number("Attempts")],
                statistics.retries.map { retry in
                    let advice = FailureAdvice(domain: retry.domain, code: retry.code, status: nil)
                    return [Self.error(advice, retry.domain, retry.code), retry.items.grouped]
                })
        }
        let refused = reports.reduce(0) { $0 + $1.progress.blocked }
        if refused > 0 {
            page += "<p>\(refused.counted("item")) \(refused == 1 ? "was" : "were") not tried: "
            page += "the URL was on the blocklist before.</p>\n"
        }
        guard statistics.blockCount > 0 else {
            return page.isEmpty ? "" : page + "<p class=\"quiet\">No URL is blocked by these failures.</p>\n"
        }
        page += "<h3>Blocked by these failures: \(statistics.blockCount.counted("URL"))</h3>\n"
        let errors = statistics.blocks.map { block in
            Self.error(FailureAdvice(domain: block.domain, code: block.code, status: nil), block.domain, block.code)
        }
        // An error that all have in common is said once.
        let isCommon = errors.count > 1 && Set(errors).count == 1
        if isCommon, let error = errors.first { page += "<p>\(error)</p>\n" }
        page += HTML.table(
            "Blocked URLs",
            [.text("URL")] + (isCommon ? [] : [.text("Error")]) + [.number("Failures"), .text("Until")],
            zip(statistics.blocks, errors).map { block, error in
                [Self.url(block.url)] + (isCommon ? [] : [error]) + [block.fails.grouped, Self.time(block.until)]
            })
        if statistics.blockCount > statistics.blocks.count {
            page += "<p class=\"quiet\">The first \(statistics.blocks.count.grouped) by URL.</p>\n"
        }
        return page + "<p class=\"quiet\"><code>larder blocklist list</code> shows all, "
            + "<code>larder blocklist remove URL</code> ends a block.</p>\n"
    }

    /// The domain and code of an error with `-v`, else empty.
    static func code(_ domain: String, _ code: Int) -> String {
        Console.showsCodes ? " <code>\(HTML.escaped(domain)) \(code)</code>" : ""
    }

    private static func error(_ advice: FailureAdvice, _ domain: String, _ code: Int) -> String {
        HTML.escaped(advice.meaning) + Self.code(domain, code)
    }

    package var settings: String {
        var rows: [[String]] = []
        for used in statistics.options where used.options != 0 || statistics.options.count > 1 {
            let names = used.names.joined(separator: ", ")
            rows.append([
                "Options of \(used.items.counted("item"))",
                names.isEmpty ? "none" : "<code>\(HTML.escaped(names))</code>",
            ])
        }
        for worker in statistics.workers {
            rows.append([
                "Worker <code>\(HTML.escaped(worker.name))</code>",
                "\(worker.jobs.grouped) job\(worker.jobs == 1 ? "" : "s") with \(worker.slots.counted("slot")) on "
                    + "<code>\(HTML.escaped(worker.host))</code>, larder \(HTML.escaped(worker.version))",
            ])
        }
        var page = rows.isEmpty ? "" : HTML.table("Settings", [.text("Setting"), .text("Value")], rows)
        for pipeline in statistics.pipelines where pipeline.name != "original" {
            page += "<details><summary>Pipeline \(HTML.escaped(pipeline.name)), version \(pipeline.version)</summary>\n"
            page += "<pre tabindex=\"0\">\(HTML.escaped(pipeline.spec))</pre></details>\n"
        }
        return page
    }
}
