import Measuring
import Terminal

/// Prints the result of a run: a row per fault, the violations, the totals.
struct ChaosReport {
    let result: ChaosRun.Result
    let options: ChaosRun.Options

    func show(json: Bool) throws {
        if json { try showJSON() } else { showText() }
    }

    private func showJSON() throws {
        for row in result.rows {
            try Console.json([
                "fault": row.kind.rawValue, "injected": row.injected, "violations": row.violations,
                "recoveryMedian": row.recoveries.isEmpty ? nil : row.recoveries.median.rounded(toDigits: 3),
                "recoveryWorst": row.recoveries.max()?.rounded(toDigits: 3), "skipped": row.skipped,
            ])
        }
        for found in result.violations {
            try Console.json([
                "violation": found.text, "fault": found.fault?.rawValue, "seconds": found.seconds.rounded(toDigits: 4),
            ])
        }
        let totals = result.totals
        try Console.json([
            "seed": "\(options.seed)", "seconds": options.seconds, "workers": options.workers,
            "batches": totals.batches, "items": totals.items, "jobs": totals.jobs, "files": totals.files,
            "cancelled": totals.cancelled, "poisoned": totals.poisoned, "samples": result.samples,
            "violations": result.violationCount,
        ])
    }

    private func showText() {
        var table = [["fault", "injected", "violations", "recovery median", "worst"]]
        for row in result.rows {
            let times = row.recoveries
            let tail =
                row.skipped.map { ["skipped: \($0)", ""] } ?? [
                    times.isEmpty ? "-" : "\(times.median.short) s", times.max().map { "\($0.short) s" } ?? "-",
                ]
            table.append([row.kind.rawValue, "\(row.injected)", "\(row.violations)"] + tail)
        }
        table.append(["found at the end", "", "\(result.violationsAtEnd)", "", ""])
        let widths = (0..<3).map { column in table.map { $0[column].count }.max() ?? 0 }
        for row in table {
            let cells = row.enumerated().map { column, text in
                column < 3 ? text + String(repeating: " ", count: widths[column] - text.count) : text
            }
            Console.line(cells.joined(separator: "  ").trimmingEnd)
        }
        for found in result.violations {
            Console.line("violation after \(found.seconds.short) s (\(found.fault?.rawValue ?? "end")): \(found.text)")
        }
        let totals = result.totals
        Console.line(
            "seed \(options.seed), \(options.seconds) s: \(totals.batches) batches, \(totals.items) items, \(totals.jobs) jobs, "
                + "\(totals.files) files, \(totals.cancelled) cancelled, \(totals.poisoned) poisoned, "
                + "\(result.samples) samples, \(result.violationCount) violations")
    }
}

extension String {
    fileprivate var trimmingEnd: String {
        var text = self[...]
        while text.last == " " { text = text.dropLast() }
        return String(text)
    }
}
