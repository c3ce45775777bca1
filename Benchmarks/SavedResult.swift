import Foundation

/// One run of one benchmark, as it is kept: `<date>-<benchmark>.json`.
struct SavedResult: Codable {
    let benchmark: String
    /// The day in UTC, `2025-01-31`.
    let date: String
    let rounds: Int
    let input: String
    let machine: [String: String]
    let measurements: [Measurement]

    static var today: String { Date.now.formatted(.iso8601.year().month().day()) }

    /// Writes it into `directory`, in place of an earlier one of the same day.
    func write(to directory: String) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        var text = String(decoding: try encoder.encode(rounded), as: UTF8.self)
        text += "\n"
        try Data(text.utf8).write(to: URL(filePath: "\(directory)/\(date)-\(benchmark).json"))
    }

    /// The newest result of each benchmark in `directory`.
    static func newest(in directory: String) throws -> [SavedResult] {
        let names = try FileManager.default.contentsOfDirectory(atPath: directory).filter { $0.hasSuffix(".json") }
        return try Benchmark.all.compactMap { benchmark in
            // Dates sort as text.
            guard let name = names.filter({ $0.hasSuffix("-\(benchmark.name).json") }).max() else { return nil }
            let data = try Data(contentsOf: URL(filePath: "\(directory)/\(name)"))
            return try JSONDecoder().decode(SavedResult.self, from: data)
        }
    }

    /// Digits beyond the fourth say nothing.
    private var rounded: SavedResult {
        SavedResult(
            benchmark: benchmark, date: date, rounds: rounds, input: input, machine: machine,
            measurements: measurements.map(\.rounded))
    }
}

extension Measurement {
    fileprivate var rounded: Measurement {
        Measurement(
            name: name, value: value.rounded(toDigits: 4), unit: unit, ratio: ratio?.rounded(toDigits: 4),
            against: against, values: values.rounded, ratios: ratios?.rounded,
            rounds: rounds.map { $0.rounded(toDigits: 4) })
    }
}

extension Measurement.Spread {
    fileprivate var rounded: Measurement.Spread {
        Measurement.Spread(low: low.rounded(toDigits: 4), high: high.rounded(toDigits: 4))
    }
}
