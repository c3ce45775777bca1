import FoundationEssentials

/// The Markdown table with the newest result of each benchmark.
enum ResultTable {
    /// Rewrites `directory/README.md`.
    static func rewrite(in directory: String) throws {
        var text = """
            # Results

            Written by `larder-lab bench queue` and `larder-lab bench fleet` with `--save Benchmarks/Results` and, for the others, by
            `swift run -c release Benchmarks NAME… --save Benchmarks/Results`: the newest run of each benchmark.
            Values and ratios are medians of the rounds with their range. A ratio is computed within each round against the
            line named with it. Compare ratios, because values drift with the machine.

            """
        for result in try SavedResult.newest(in: directory) { text += section(result) }
        try Data(text.utf8).write(to: URL(filePath: directory + "/README.md"))
    }

    private static func section(_ result: SavedResult) -> String {
        let machine = result.machine.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
        let rows = result.measurements.map { line in
            let ratio = line.ratio.map { "\($0.short)\(range(line.ratios))" } ?? ""
            let against = line.against.map { "`\($0)`" } ?? ""
            return
                "| `\(line.name)` | \(line.value.short)\(range(line.values)) | \(line.unit) | \(ratio) | \(against) |"
        }
        return """

            ## \(result.benchmark)

            \(result.date), \(result.rounds) rounds; \(result.input). Machine: \(machine).

            | Name | Value | Unit | Ratio | Against |
            |---|---|---|---|---|
            \(rows.joined(separator: "\n"))

            """
    }

    private static func range(_ spread: MeasuredFigure.Spread?) -> String {
        spread.map { " (\($0.low.short)–\($0.high.short))" } ?? ""
    }
}
