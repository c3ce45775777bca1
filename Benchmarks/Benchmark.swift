import Measuring

/// One question and how it is answered.
struct Benchmark: Sendable {
    /// What a run found out.
    struct Findings {
        var measurements: [MeasuredFigure]
        /// What the figures rest on besides the machine, one line.
        var input: String
        /// Facts of the machine that this run knows better.
        var facts: [String: String] = [:]
    }

    let name: String
    let question: String
    let run: @Sendable (Options) async throws -> Findings

    static let all: [Benchmark] = [.keys, .store, .expiry, .transcode, .planes, .resident]
}
