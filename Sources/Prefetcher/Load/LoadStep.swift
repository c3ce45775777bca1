package import Downloader
internal import ImageModel
internal import Transcoder

/// A part of a load with its times, for traces.
package struct LoadStep: Sendable {
    package enum Part: Sendable {
        case stage(LoadError.Stage)
        /// A request of the fetch.
        case hop(FetchHop)
        /// The decoding of the original, with the wait for the child's memory.
        case decode
        /// A variant by its name, and the code of its error.
        case variant(String, error: Int?)
    }

    package let part: Part
    package let start, end: ContinuousClock.Instant

    /// - Parameter end: now by default.
    init(_ part: Part, from start: ContinuousClock.Instant, to end: ContinuousClock.Instant = .now) {
        (self.part, self.start, self.end) = (part, start, end)
    }

    init(_ hop: FetchHop) { self.init(.hop(hop), from: hop.start, to: hop.end) }

    /// The decoding and the variants of a request to a child. A child draws one variant after another, so that each
    /// begins when the one before it ends.
    static func parts(of report: TranscodeReport, _ entries: [LoadPlan.Entry]) -> [LoadStep] {
        guard let times = report.times, let decoded = times.decoded else { return [] }
        var steps = [LoadStep(.decode, from: times.started, to: decoded)]
        var start = decoded
        let made = zip(zip(entries, report.variants), times.finished).compactMap { pair, end in end.map { (pair, $0) } }
        for ((entry, result), end) in made.sorted(by: { $0.1 < $1.1 }) {
            var code: Int?
            if case .failure(let error) = result { code = error.failure.code }
            steps.append(LoadStep(.variant(entry.variant.name, error: code), from: start, to: end))
            start = end
        }
        return steps
    }
}
