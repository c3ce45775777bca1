/// What is asked of the values that the rounds gave.
package struct Figure {
    let name: String
    let unit: String
    /// The series it is read from.
    let series: String
    /// The series that is its peer.
    let against: String?

    /// A figure, by default of the series of its name and without a peer.
    package init(_ name: String, _ unit: String, of series: String? = nil, against: String? = nil) {
        self.name = name
        self.unit = unit
        self.series = series ?? name
        self.against = against
    }
}

/// Values by series, one per round.
package struct Rounds {
    /// One part of a round; gives a value for each of its series.
    package typealias Step = () async throws -> [String: Double]

    private var series: [String: [Double]] = [:]

    /// No values yet.
    package init() {}

    /// Runs all steps once as a warm-up that does not count, then `count` times.
    ///
    /// Each round begins with another step, so that none always profits from, or pays for, the same one before it.
    package init(_ count: Int, _ steps: [Step]) async throws {
        for round in 0...count {
            for offset in steps.indices {
                let values = try await steps[(offset + round) % steps.count]()
                if round > 0 { add(values) }
            }
        }
    }

    /// Takes the values of one round, or of a part of one.
    package mutating func add(_ values: [String: Double]) {
        for (name, value) in values { series[name, default: []].append(value) }
    }

    /// The measurements of `figures`, in their order.
    ///
    /// - Throws: `MeasuringError` when a series is missing or has a value that is no positive number.
    package func measurements(_ figures: [Figure]) throws -> [MeasuredFigure] {
        try figures.map { figure in
            let values = try values(of: figure.series)
            let ratios = try figure.against.map { peer in
                zip(values, try self.values(of: peer)).map { $0 / $1 }
            }
            return MeasuredFigure(
                name: figure.name, value: values.median, unit: figure.unit, ratio: ratios?.median,
                against: figure.against, values: values.spread, ratios: ratios?.spread, rounds: values)
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
    /// The value below which `share` (0…1) of them lie; of at least one value.
    package func quantile(_ share: Double) -> Double {
        sorted()[Swift.min(count - 1, Swift.max(0, Int((share * Double(count)).rounded(.up)) - 1))]
    }

    /// The middle one, or the mean of the two in the middle; of at least one value.
    package var median: Double {
        let sorted = sorted()
        return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2
    }

    fileprivate var spread: MeasuredFigure.Spread {
        MeasuredFigure.Spread(low: self.min() ?? .nan, high: self.max() ?? .nan)
    }
}
