import Terminal

/// Metrics in Prometheus' text format, version 0.0.4.
package struct MetricsText {
    package enum Kind: String {
        case counter, gauge, histogram
    }

    package static let type = "text/plain; version=0.0.4; charset=utf-8"

    package private(set) var text = ""

    package init() {}

    /// A family: its samples by label. Omitted without samples.
    package mutating func add(
        _ name: String, _ kind: Kind, _ help: String, _ samples: [(labels: [(String, String)], value: Double)]
    ) {
        guard !samples.isEmpty else { return }
        head(name, kind, help)
        for sample in samples { line(name, sample.labels, sample.value) }
    }

    /// A family with one unlabelled sample.
    package mutating func add(_ name: String, _ kind: Kind, _ help: String, _ value: Double) {
        add(name, kind, help, [([], value)])
    }

    package mutating func add(_ name: String, _ help: String, _ histograms: [(labels: [(String, String)], Histogram)]) {
        head(name, .histogram, help)
        for (labels, histogram) in histograms {
            var total = 0
            for (bound, count) in zip(Histogram.bounds, histogram.counts) {
                total += count
                line(name + "_bucket", labels + [("le", Self.number(bound))], Double(total))
            }
            line(name + "_bucket", labels + [("le", "+Inf")], Double(histogram.count))
            line(name + "_sum", labels, histogram.sum)
            line(name + "_count", labels, Double(histogram.count))
        }
    }

    private mutating func head(_ name: String, _ kind: Kind, _ help: String) {
        text += "# HELP \(name) \(help)\n# TYPE \(name) \(kind.rawValue)\n"
    }

    private mutating func line(_ name: String, _ labels: [(String, String)], _ value: Double) {
        text += name
        if !labels.isEmpty {
            text += "{" + labels.map { "\($0.0)=\"\(Self.escaped($0.1))\"" }.joined(separator: ",") + "}"
        }
        text += " \(Self.number(value))\n"
    }

    /// Escapes unprintable characters, since a terminal or page may show the text.
    private static func escaped(_ value: String) -> String {
        PrintableText.lines(value).replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
            .replacing("\n", with: "\\n")
    }

    /// Whole numbers without a fraction.
    private static func number(_ value: Double) -> String {
        value == value.rounded() && abs(value) < 1e15 ? "\(Int64(value))" : "\(value)"
    }
}

/// Counts of durations by range.
package struct Histogram {
    /// Upper bounds in seconds.
    package static let bounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]

    /// By bound; durations above the last one are only in `count`.
    package private(set) var counts = [Int](repeating: 0, count: bounds.count)
    package private(set) var count = 0
    /// In seconds.
    package private(set) var sum = 0.0

    package init() {}

    package mutating func add(_ seconds: Double) {
        if let place = Self.bounds.firstIndex(where: { seconds <= $0 }) { counts[place] += 1 }
        count += 1
        sum += seconds
    }
}
