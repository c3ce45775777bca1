import FoundationEssentials

/// A saved benchmark run: `<date>-<benchmark>.json`.
package struct SavedResult: Codable {
    let benchmark: String
    /// The UTC day, such as `2025-01-31`.
    let date: String
    let rounds: Int
    let input: String
    let machine: [String: String]
    let measurements: [MeasuredFigure]

    /// Saves today's run in `directory`, replacing an earlier one of the day, and rewrites the table of results.
    ///
    /// - Parameters:
    ///   - input: the measurement's input, one line.
    ///   - load: the load before the run.
    ///   - facts: replace facts of `MachineFacts`.
    package static func save(
        _ benchmark: String, rounds: Int, input: String, load: String, facts: [String: String],
        _ measurements: [MeasuredFigure], in directory: String
    ) async throws {
        let date = Date.now.formatted(.iso8601.year().month().day())
        let machine = await MachineFacts.gathered(load: load).merging(facts) { $1 }
        let result = SavedResult(
            benchmark: benchmark, date: date, rounds: rounds, input: input, machine: machine,
            measurements: measurements)
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        let text = String(decoding: try encoder.encode(result), as: UTF8.self) + "\n"
        try Data(text.utf8).write(to: URL(filePath: "\(directory)/\(date)-\(benchmark).json"))
        try ResultTable.rewrite(in: directory)
    }

    /// Each benchmark's newest result in `directory`.
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
