import Foundation

/// One saved run of a benchmark: `<date>-<benchmark>.json`.
package struct SavedResult: Codable {
    let benchmark: String
    /// The day in UTC, `2025-01-31`.
    let date: String
    let rounds: Int
    let input: String
    let machine: [String: String]
    let measurements: [MeasuredFigure]

    /// A run of today.
    ///
    /// - Parameters:
    ///   - input: the input of the measurement, one line.
    ///   - machine: the facts of `MachineFacts`.
    package init(
        benchmark: String, rounds: Int, input: String, machine: [String: String], measurements: [MeasuredFigure]
    ) {
        self.benchmark = benchmark
        date = Self.today
        self.rounds = rounds
        self.input = input
        self.machine = machine
        self.measurements = measurements
    }

    package static var today: String { Date.now.formatted(.iso8601.year().month().day()) }

    /// Writes the result into `directory`, replacing an earlier one of the same day.
    package func write(to directory: String) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        var text = String(decoding: try encoder.encode(self), as: UTF8.self)
        text += "\n"
        try Data(text.utf8).write(to: URL(filePath: "\(directory)/\(date)-\(benchmark).json"))
    }

    /// The newest result of each benchmark, by name, in `directory`.
    static func newest(in directory: String) throws -> [SavedResult] {
        // `2025-01-31-queue.json`: dates sort as text, so the last of each name is the newest.
        var newest: [String: String] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: directory).sorted()
        where name.hasSuffix(".json") && name.count > 11 {
            newest[String(name.dropFirst(11))] = name
        }
        return try newest.sorted { $0.key < $1.key }.map { _, name in
            let data = try Data(contentsOf: URL(filePath: "\(directory)/\(name)"))
            return try JSONDecoder().decode(SavedResult.self, from: data)
        }
    }
}
