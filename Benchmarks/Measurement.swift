import Glibc

/// One figure of a benchmark: the median of its rounds, and its ratio to a peer measured in the same rounds.
struct Measurement: Codable {
    /// How spread the rounds were.
    struct Spread: Codable {
        let low, high: Double
    }

    let name: String
    /// The median of the rounds.
    let value: Double
    let unit: String
    /// The median of the rounds' own ratios: what drifts on a shared machine drifts for both. Nil without a peer.
    let ratio: Double?
    /// The peer, which has a line of its own. Nil for peers and for what is only reported.
    let against: String?
    let values: Spread
    let ratios: Spread?
    /// The values of all rounds in their order: a trend is a finding of its own.
    let rounds: [Double]
}

/// What is asked of the values that the rounds gave.
struct Figure {
    let name: String
    let unit: String
    /// The series it is read from.
    let series: String
    /// The series that is its peer.
    let against: String?

    init(_ name: String, _ unit: String, of series: String? = nil, against: String? = nil) {
        self.name = name
        self.unit = unit
        self.series = series ?? name
        self.against = against
    }
}

/// Values by series, one per round.
struct Rounds {
    /// One part of a round; gives a value for each of its series.
    typealias Step = () async throws -> [String: Double]

    private var series: [String: [Double]] = [:]

    /// Runs all steps once as a warm-up that does not count, then `count` times.
    ///
    /// Each round begins with another step, so that none always profits from, or pays for, the same one before it.
    init(_ count: Int, _ steps: [Step]) async throws {
        for round in 0...count {
            for offset in steps.indices {
                let values = try await steps[(offset + round) % steps.count]()
                guard round > 0 else { continue }
                for (name, value) in values { series[name, default: []].append(value) }
            }
        }
    }

    /// The measurements of `figures`, in their order.
    func measurements(_ figures: [Figure]) throws -> [Measurement] {
        try figures.map { figure in
            let values = try values(of: figure.series)
            let ratios = try figure.against.map { peer in
                zip(values, try self.values(of: peer)).map { $0 / $1 }
            }
            return Measurement(
                name: figure.name, value: values.median, unit: figure.unit, ratio: ratios?.median,
                against: figure.against, values: values.spread, ratios: ratios?.spread, rounds: values)
        }
    }

    private func values(of name: String) throws -> [Double] {
        guard let values = series[name], !values.isEmpty, values.allSatisfy({ $0.isFinite && $0 > 0 }) else {
            throw BenchmarkError("the rounds gave no usable values for \(name)")
        }
        return values
    }
}

extension [Double] {
    /// The middle one, or the mean of the two in the middle; of at least one value.
    fileprivate var median: Double {
        let sorted = sorted()
        return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2
    }

    fileprivate var spread: Measurement.Spread {
        Measurement.Spread(low: self.min() ?? .nan, high: self.max() ?? .nan)
    }
}

extension ContinuousClock {
    /// How many of `count` things `work` does in a second.
    func rate(of count: Int, _ work: () async throws -> Void) async rethrows -> Double {
        let start = now
        try await work()
        return Double(count) / (now - start).seconds
    }
}

extension ContinuousClock {
    /// The same with steps that each do `width` things: until `most` are done, or for about `budget`.
    ///
    /// A slow disk then costs samples their length, and not the run its end.
    func rate(
        of width: Int, most: Int, within budget: Duration = .milliseconds(600), _ step: () async throws -> Void
    ) async rethrows -> Double {
        let start = now
        var done = 0
        repeat {
            try await step()
            done += width
        } while done < most && now - start < budget
        return Double(done) / (now - start).seconds
    }
}

/// User and system time of this process, its children left out, in seconds.
var processorSeconds: Double {
    var usage = rusage()
    getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    return Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
        + Double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6
}

extension Duration {
    var seconds: Double { self / .seconds(1) }
}
