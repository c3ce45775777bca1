import Measuring

/// One question and the measurement that answers it.
struct Benchmark: Sendable {
    struct Findings {
        var measurements: [MeasuredFigure]
        /// The input of the measurement, one line.
        var input: String
        /// Facts that replace those of `MachineFacts`.
        var facts: [String: String] = [:]
    }

    let name: String
    let question: String
    let run: @Sendable (Options) async throws -> Findings

    static let all: [Benchmark] = [.keys, .store, .expiry, .fetch, .transcode, .planes, .resident, .estimates]
}
