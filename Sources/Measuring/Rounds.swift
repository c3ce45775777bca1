/// A figure computed from the rounds' values.
package struct Figure {
    let name: String
    let unit: String
    let series: String
    let against: String?

    /// - Parameter series: the values' series; by default named like the figure.
    package init(_ name: String, _ unit: String, of series: String? = nil, against: String? = nil) {
        self.name = name
        self.unit = unit
        self.series = series ?? name
        self.against = against
    }
}

/// Values by series, one per round.
package struct Rounds {
    /// A part of a round; returns a value for each of its series.
    package typealias Step = () async throws -> [String: Double]

    private var series: [String: [Double]] = [:]

    package init() {}

    /// Runs all steps once as an uncounted warm-up, then `count` times. Each round begins with another step, so that no
    /// step always follows the same one.
    package init(_ count: Int, _ steps: [Step]) async throws {
        for round in 0...count {
            for offset in steps.indices {
                let values = try await steps[(offset + round) % steps.count]()
                if round > 0 { add(values) }
            }
        }
    }

    /// Adds the values of a round, or of a part of it.
    package mutating func add(_ values: [String: Double]) {
        for (name, value) in values { series[name, default: []].append(value) }
    }

    /// The measured `figures` in order, with four significant digits.
    ///
    /// - Throws: `MeasuringError` if a series is missing or has a value that is not positive.
    package func measurements(_ figures: [Figure]) throws -> [MeasuredFigure] {
        try figures.map { figure in
            let values = try values(of: figure.series)
            let ratios = try figure.against.map { peer in
                zip(values, try self.values(of: peer)).map { $0 / $1 }
            }
            return MeasuredFigure(
                name: figure.name, value: values.median.rounded(toDigits: 4), unit: figure.unit,
                ratio: ratios?.median.rounded(toDigits: 4), against: figure.against, values: values.spread,
                ratios: ratios?.spread, rounds: values.map { $0.rounded(toDigits: 4) })
        }
    }

    private func values(of name: String) throws -> [Double] {
        guard let values = series[name], !values.isEmpty, values.allSatisfy({ $0.isFinite && $0 > 0 }) else {
            throw MeasuringError("the rounds gave no usable values for \(name)")
        }
        return values
    }
}

extension [Double] {
    /// The value below which `share` (0...1) of the values lie. Needs at least one value.
    package func quantile(_ share: Double) -> Double {
        sorted()[Swift.min(count - 1, Swift.max(0, Int((share * Double(count)).rounded(.up)) - 1))]
    }

    /// The middle value, or the mean of the two middle ones. Needs at least one value.
    package var median: Double {
        let sorted = sorted()
        return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2
    }

    fileprivate var spread: MeasuredFigure.Spread {
        MeasuredFigure.Spread(
            low: (self.min() ?? .nan).rounded(toDigits: 4), high: (self.max() ?? .nan).rounded(toDigits: 4))
    }
}
