import JobQueue

/// The sections with charts and tables; one without content is left out.
extension ReportPage {
    var time: String {
        guard !statistics.timeline.isEmpty else { return "" }
        let slots = Dictionary(statistics.timeline.map { ($0.slot, $0) }) { first, _ in first }
        let width = statistics.slotMilliseconds
        let last = statistics.timeline.map(\.slot).max() ?? 0
        let columns = (0...last).map { place -> (parts: [Chart.Part], text: String) in
            let slot = slots[place]
            let (good, bad) = (slot?.succeeded ?? 0, slot?.skipped ?? 0)
            return (
                [Chart.Part(value: good, kind: "good"), Chart.Part(value: bad, kind: "bad")],
                "after \(Self.milliseconds(place * width)): \(good.grouped) succeeded, \(bad.grouped) failed or cancelled"
            )
        }
        let top = statistics.timeline.map { $0.succeeded + $0.skipped }.max() ?? 0
        var page = Chart.columns(
            columns,
            "Items that ended in each \(Self.milliseconds(width)) from the first to the last, "
                + "at most \(top.grouped)")
        page += stages
        let slow = statistics.slowest
        guard !slow.isEmpty else { return page }
        page += "<h3>Slowest jobs</h3>\n"
        let longest = slow.map(\.total).max() ?? 0
        return page
            + HTML.table(
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
                })
    }

    private var stages: String {
        let stages = statistics.stages.filter { $0.p50 != nil }
        guard !stages.isEmpty else { return "" }
        let meanings = [
            "wait": "wait for a connection or a transcoder", "fetch": "fetch", "transcode": "transcode",
            "store": "commit to the cache",
        ]
        let longest = stages.compactMap(\.p99).max() ?? 0
        return "<h3>Stages of a job</h3>\n"
            + HTML.table(
                "Stages of a job",
                [.text("Stage"), .number("Median"), .text(""), .number("95 %"), .text(""), .number("99 %"), .text("")],
                stages.map { stage in
                    var row = [HTML.escaped(meanings[stage.stage] ?? stage.stage)]
                    for value in [stage.p50, stage.p95, stage.p99] {
                        row += [Self.milliseconds(value ?? 0), Chart.bar(value ?? 0, of: longest)]
                    }
                    return row
                })
    }

    var origins: String {
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

    var sizes: String {
        var page = ""
        if !statistics.variants.isEmpty {
            let most = statistics.variants.map { max($0.bytes, $0.originals) }.max() ?? 0
            page += HTML.table(
                "Variants",
                [
                    .text("Variant"), .number("Files"), .number("Originals"), .text(""), .number("Variant"), .text(""),
                    .number("Of the originals"),
                ],
                statistics.variants.map { variant in
                    let share = variant.originals > 0 ? variant.bytes * 1_000 / variant.originals : 0
                    return [
                        HTML.escaped(variant.name), variant.files.grouped, ByteCount(variant.originals).text,
                        Chart.bar(variant.originals, of: most, "quiet"), ByteCount(variant.bytes).text,
                        Chart.bar(variant.bytes, of: most), "\(Double(share) / 10) %",
                    ]
                })
        }
        guard !statistics.largest.isEmpty else { return page }
        let most = statistics.largest.map(\.bytes).max() ?? 0
        return page + "<h3>Largest downloads</h3>\n"
            + HTML.table(
                "Largest downloads", [.text("URL"), .number("Size"), .text("")],
                statistics.largest.map {
                    [Self.url($0.url), ByteCount($0.bytes).text, Chart.bar($0.bytes, of: most)]
                })
    }

    var comparison: String {
        guard let previous, let progress = reports.first?.progress else { return "" }
        func row(_ name: String, _ now: Int, _ before: Int, _ text: (Int) -> String) -> [String] {
            let change = now - before
            return [
                HTML.escaped(name), text(before), text(now),
                change == 0 ? "–" : (change > 0 ? "+" : "−") + text(abs(change)),
            ]
        }
        let size = { (bytes: Int) in ByteCount(bytes).text }
        let count = { (items: Int) in items.grouped }
        return "<p class=\"quiet\">Compared with run \(previous.run), opened \(Self.time(previous.openedAt)).</p>\n"
            + HTML.table(
                "Previous run",
                [.text("Count"), .number("Run \(previous.run)"), .number("Run \(progress.run)"), .number("Change")],
                [
                    row("items", progress.total, previous.total, count),
                    row("succeeded", progress.succeeded, previous.succeeded, count),
                    row("failed", progress.failed, previous.failed, count),
                    row("fresh", progress.fresh, previous.fresh, count),
                    row("retries", progress.retries, previous.retries, count),
                    row("received", progress.bytesIn, previous.bytesIn, size),
                    row("stored", progress.bytesOut, previous.bytesOut, size),
                    row(
                        "elapsed", Int(progress.elapsed.components.seconds),
                        Int(previous.elapsed.components.seconds), Self.seconds),
                ])
    }

    var batches: String {
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
                    HTML.escaped(progress.title), progress.state.rawValue, Self.time(progress.openedAt),
                    progress.total.grouped, progress.failed.grouped, ByteCount(progress.bytesIn).text,
                ]
            })
    }

    var settings: String {
        var page = ""
        for pipeline in statistics.pipelines where pipeline.name != "original" {
            page += "<details><summary>\(HTML.escaped(pipeline.name)), version \(pipeline.version)</summary>\n"
            page += "<pre tabindex=\"0\">\(HTML.escaped(pipeline.spec))</pre></details>\n"
        }
        if !statistics.retries.isEmpty {
            page += "<h3>Retried attempts</h3>\n"
            page += HTML.table(
                "Retried attempts", [.text("Error"), .number("Attempts")],
                statistics.retries.map { retry in
                    let advice = FailureAdvice(domain: retry.domain, code: retry.code, status: nil)
                    return [
                        "\(HTML.escaped(advice.meaning)) <code>\(HTML.escaped(retry.domain)) \(retry.code)</code>",
                        retry.items.grouped,
                    ]
                })
        }
        return page
    }

    private static func milliseconds(_ value: Int) -> String {
        value < 10_000 ? "\(value.grouped) ms" : seconds(value / 1_000)
    }
}

extension BatchStatistics.SlowJob {
    fileprivate var total: Int { wait + fetch + transcode + store }
}
