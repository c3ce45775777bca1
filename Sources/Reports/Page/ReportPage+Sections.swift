import JobQueue
import Terminal

/// The sections with charts and tables; one without content is left out.
extension ReportPage {
    package var time: String {
        guard !statistics.timeline.isEmpty else { return "" }
        let slots = Dictionary(statistics.timeline.map { ($0.slot, $0) }) { first, _ in first }
        let width = statistics.slotMilliseconds
        // At least 20, so that a column of a short run is not as wide as the chart.
        let last = max(19, statistics.timeline.map(\.slot).max() ?? 0)
        let items = (0...last).map { place -> Chart.Column in
            let (good, bad) = (slots[place]?.succeeded ?? 0, slots[place]?.skipped ?? 0)
            let text = "\(good.grouped) succeeded, \(bad.grouped) failed or cancelled"
            return Chart.Column(values: [good, bad], text: "after \(Self.milliseconds(place * width)): \(text)")
        }
        let ended = statistics.timeline.reduce(0) { $0 + $1.succeeded + $1.skipped }
        let ticks = ticks((last + 1) * width)
        return "<div class=\"charts\">\n"
            + Chart.columns(
                "Items per \(Self.milliseconds(width))", items,
                legend: [("succeeded", "good"), ("failed or cancelled", "bad")], scale: \.grouped, ticks: ticks,
                label: "\(ended.counted("item")) over \(Self.milliseconds((last + 1) * width))")
            + stageTimeline(slots, last, width, ticks) + "</div>\n" + stages + slowest
    }

    /// The beginning, the middle and the end of a span of ms.
    private func ticks(_ span: Int) -> [String] {
        [statistics.startedAt.map(Self.time) ?? "0", "+\(Self.milliseconds(span / 2))", "+\(Self.milliseconds(span))"]
    }

    private func stageTimeline(
        _ slots: [Int: BatchStatistics.TimelineSlot], _ last: Int, _ width: Int, _ ticks: [String]
    ) -> String {
        let names = ["wait", "fetch", "transcode", "store"]
        let columns = (0...last).map { place -> Chart.Column in
            let slot = slots[place]
            let values = [slot?.wait ?? 0, slot?.fetch ?? 0, slot?.transcode ?? 0, slot?.store ?? 0]
            let times = zip(names, values).map { "\($0) \(Self.milliseconds($1))" }.joined(separator: ", ")
            return Chart.Column(values: values, text: "after \(Self.milliseconds(place * width)): \(times)")
        }
        guard columns.contains(where: { $0.values.contains { $0 > 0 } }) else { return "" }
        return Chart.columns(
            "Mean time of a job", columns, legend: Array(zip(names, ["quiet", "accent", "warn", "good"])),
            scale: { $0 == 0 ? "0" : Self.milliseconds($0) }, ticks: ticks,
            label: "Mean times of the stages of the jobs that ended then")
    }

    private var slowest: String {
        let slow = statistics.slowest
        guard !slow.isEmpty else { return "" }
        let longest = slow.map(\.total).max() ?? 0
        return HTML.disclosure(
            "Slowest jobs: the slowest took \(Self.milliseconds(longest))",
            HTML.table(
                "Slowest jobs",
                [
                    .text("URL"), .number("Time"), .text(""), .number("Wait"), .number("Fetch"), .number("Transcode"),
                    .number("Store"),
                ],
                slow.map { job in
                    [
                        Self.url(job.url), Self.milliseconds(job.total), Chart.bar(job.total, of: longest),
                        Self.milliseconds(job.wait), Self.milliseconds(job.fetch), Self.milliseconds(job.transcode),
                        Self.milliseconds(job.store),
                    ]
                }))
    }

    private var stages: String {
        let stages = statistics.stages.filter { $0.p50 != nil }
        guard !stages.isEmpty else { return "" }
        let longest = stages.compactMap(\.p99).max() ?? 0
        return "<h3>Stages of a job</h3>\n"
            + HTML.table(
                "Stages of a job",
                [.text("Stage"), .number("Median"), .text(""), .number("95 %"), .text(""), .number("99 %"), .text("")],
                stages.map { stage in
                    var row = [HTML.escaped(stage.title)]
                    for value in [stage.p50, stage.p95, stage.p99] {
                        row += [Self.milliseconds(value ?? 0), Chart.bar(value ?? 0, of: longest)]
                    }
                    return row
                })
    }

    package var origins: String {
        guard statistics.origins.count > 1 || statistics.origins.contains(where: { $0.failed > 0 }) else { return "" }
        let most = statistics.origins.map(\.items).max() ?? 0
        var page = HTML.table(
            "Origins",
            [
                .text("Origin"), .number("Items"), .text(""), .number("Failed"), .number("Received"),
                .number("Median download"),
            ],
            statistics.origins.map { origin in
                [
                    "<code>\(HTML.escaped(origin.origin))</code>", origin.items.grouped,
                    Chart.bar(origin.items, of: most, origin.failed == origin.items ? "bad" : "accent"),
                    origin.failed > 0 ? "<span class=\"bad\">\(origin.failed.grouped)</span>" : "0",
                    ByteCount(origin.bytesIn).text, origin.fetchMs.map(Self.milliseconds) ?? "–",
                ]
            })
        if statistics.originCount > statistics.origins.count {
            page += "<p class=\"quiet\">These are the \(statistics.origins.count) with the most failures of "
            page += "\(statistics.originCount.grouped).</p>\n"
        }
        return page
    }

    package var sizes: String {
        var page = ""
        if !statistics.variants.isEmpty {
            let most = statistics.variants.map { max($0.bytes, $0.originals) }.max() ?? 0
            page += HTML.table(
                "Variants",
                [
                    .text("Variant"), .number("Files"), .number("Made"), .number("Originals"), .text(""),
                    .number("Variants"), .text(""),
                    .number("Saved"), .number("Of the originals"),
                ],
                statistics.variants.map { variant in
                    let share = variant.originals > 0 ? variant.bytes * 1_000 / variant.originals : 0
                    return [
                        HTML.escaped(variant.name), variant.files.grouped, variant.made.grouped,
                        ByteCount(variant.originals).text,
                        Chart.bar(variant.originals, of: most, "quiet"), ByteCount(variant.bytes).text,
                        Chart.bar(variant.bytes, of: most), Self.saved(variant.originals - variant.bytes),
                        "\(Double(share) / 10) %",
                    ]
                })
        }
        guard !statistics.largest.isEmpty else { return page }
        let most = statistics.largest.map(\.bytes).max() ?? 0
        return page
            + HTML.disclosure(
                "Largest downloads: the largest has \(ByteCount(most).text)",
                HTML.table(
                    "Largest downloads", [.text("URL"), .number("Size"), .text("")],
                    statistics.largest.map {
                        [Self.url($0.url), ByteCount($0.bytes).text, Chart.bar($0.bytes, of: most)]
                    }))
    }

    package var batches: String {
        guard reports.count != 1 else { return "" }
        guard !reports.isEmpty else { return "<p class=\"quiet\">No batch was opened in this time.</p>\n" }
        return HTML.table(
            "Batches",
            [
                .text("Batch"), .text("State"), .text("Opened"), .number("Items"), .number("Failed"),
                .number("Received"),
            ],
            reports.map { report in
                let progress = report.progress
                return [
                    HTML.escaped(progress.title),
                    "<span class=\"state \(Self.kind(progress))\">\(progress.stateText)</span>",
                    Self.time(progress.openedAt), progress.total.grouped,
                    progress.failed > 0 ? "<span class=\"bad\">\(progress.failed.grouped)</span>" : "0",
                    ByteCount(progress.bytesIn).text,
                ]
            })
    }

    private static func saved(_ bytes: Int) -> String {
        bytes >= 0 ? ByteCount(bytes).text : "<span class=\"warn\">−\(ByteCount(-bytes).text)</span>"
    }
}

extension BatchStatistics.SlowJob {
    fileprivate var total: Int { wait + fetch + transcode + store }
}
