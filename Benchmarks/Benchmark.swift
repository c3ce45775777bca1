/// One question and how it is answered.
struct Benchmark: Sendable {
    /// What a run found out.
    struct Findings {
        var measurements: [Measurement]
        /// What the figures rest on besides the machine, one line.
        var input: String
        /// Facts of the machine that this run knows better.
        var facts: [String: String] = [:]
    }

    let name: String
    let question: String
    let run: @Sendable (Options) async throws -> Findings

    static let all: [Benchmark] = [.keys, .store, .queue, .transcode]
}

/// Why a benchmark has no result.
struct BenchmarkError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
