import Concurrency
import ImageModel
import JobQueue
import Terminal

/// The run of the same name before.
struct PreviousRun {
    let progress: BatchProgress
    let changes: RunComparison
}

/// The section that compares a batch with its previous run.
extension ReportPage {
    var comparison: String {
        guard let previous, let progress = reports.first?.progress else { return "" }
        let before = previous.progress
        func row(_ name: String, _ now: Int?, _ then: Int?, _ text: (Int) -> String) -> [String]? {
            guard now ?? 0 != 0 || then ?? 0 != 0 else { return nil }
            let change = (now ?? 0) - (then ?? 0)
            return [
                HTML.escaped(name), then.map(text) ?? "–", now.map(text) ?? "–",
                now == nil || then == nil || change == 0 ? "–" : (change > 0 ? "+" : "−") + text(abs(change)),
            ]
        }
        let size = { (bytes: Int) in ByteCount(bytes).text }
        let count = { (items: Int) in items.grouped }
        let rows = [
            row("items", progress.total, before.total, count),
            row("succeeded", progress.succeeded, before.succeeded, count),
            row("failed", progress.failed, before.failed, count), row("fresh", progress.fresh, before.fresh, count),
            row("retries", progress.retries, before.retries, count),
            row("received", progress.bytesIn, before.bytesIn, size),
            row("stored", progress.bytesOut, before.bytesOut, size),
            row(
                "elapsed", Int(progress.elapsed.milliseconds), Int(before.elapsed.milliseconds), Self.milliseconds),
            row("median of a job", progress.p50.map { Int($0) }, before.p50.map { Int($0) }, Self.milliseconds),
            row("95 % of jobs", progress.p95.map { Int($0) }, before.p95.map { Int($0) }, Self.milliseconds),
        ].compactMap(\.self)
        let name = HTML.escaped("\(before.displayName)@\(before.run)")
        return "<p class=\"quiet\">Compared with \(name), opened \(Self.time(before.openedAt)).</p>\n"
            + changed("newly failed", "bad", previous.changes.newlyFailed, previous.changes.newlyFailedURLs)
            + changed("fixed", "good", previous.changes.fixed, previous.changes.fixedURLs)
            + "<div class=\"narrow\">\n"
            + HTML.table(
                "Previous run",
                [.text("Count"), .number("Run \(before.run)"), .number("Run \(progress.run)"), .number("Change")], rows)
            + "</div>\n"
    }

    private func changed(_ name: String, _ kind: String, _ count: Int, _ urls: [String]) -> String {
        guard count > 0 else { return "" }
        var page =
            "<details\(count <= 5 ? " open" : "")><summary><b class=\"\(kind)\">\(count.counted("URL")) \(name)</b>"
        page += "</summary>\n<ul>\n" + urls.map { "<li>\(Self.url($0))</li>\n" }.joined() + "</ul>\n"
        if count > urls.count { page += "<p class=\"quiet\">The first \(urls.count) by URL.</p>\n" }
        return page + "</details>\n"
    }
}
