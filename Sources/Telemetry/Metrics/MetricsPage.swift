/// The metrics of a program at one moment, of which `text` and `OTLP.metrics` make what is sent.
package struct MetricsPage: Sendable {
    package enum Kind: String, Sendable {
        case counter, gauge, histogram
    }

    package typealias Labels = [(name: String, value: String)]

    /// The samples of one name.
    struct Family: Sendable {
        enum Value: Sendable {
            case number(Double)
            case histogram(Histogram)
        }

        /// As Prometheus has it: a counter's ends with `_total`, a unit stands before that.
        let name: String
        let kind: Kind
        let help: String
        let samples: [(labels: Labels, value: Value)]
    }

    private(set) var families: [Family] = []

    package init() {}

    /// A family: its samples by label. Omitted without samples.
    package mutating func add(
        _ name: String, _ kind: Kind, _ help: String, _ samples: [(labels: Labels, value: Double)]
    ) {
        guard !samples.isEmpty else { return }
        families.append(
            Family(name: name, kind: kind, help: help, samples: samples.map { ($0.labels, .number($0.value)) }))
    }

    /// A family with one unlabelled sample.
    package mutating func add(_ name: String, _ kind: Kind, _ help: String, _ value: Double) {
        add(name, kind, help, [([], value)])
    }

    package mutating func add(_ name: String, _ help: String, _ histograms: [(labels: Labels, Histogram)]) {
        families.append(
            Family(name: name, kind: .histogram, help: help, samples: histograms.map { ($0.labels, .histogram($0.1)) }))
    }
}

/// Counts of durations by range.
package struct Histogram: Sendable {
    /// One of the durations, with the span in which it was measured.
    struct Exemplar: Sendable {
        let seconds: Double
        let span: TraceContext
        /// Since 1970.
        let time: Duration
    }

    /// Upper bounds in seconds; the last range has none.
    package static let bounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]

    /// By range.
    package private(set) var counts = [Int](repeating: 0, count: bounds.count + 1)
    /// The newest by range.
    private(set) var exemplars = [Exemplar?](repeating: nil, count: bounds.count + 1)
    /// In seconds.
    package private(set) var sum = 0.0

    package var count: Int { counts.reduce(0, +) }

    package init() {}

    /// - Parameters:
    ///   - span: where it was measured, if that is recorded.
    ///   - time: since 1970.
    package mutating func add(_ seconds: Double, in span: TraceContext? = nil, at time: Duration = .zero) {
        let range = Self.bounds.firstIndex { seconds <= $0 } ?? Self.bounds.count
        counts[range] += 1
        sum += seconds
        if let span { exemplars[range] = Exemplar(seconds: seconds, span: span, time: time) }
    }
}
