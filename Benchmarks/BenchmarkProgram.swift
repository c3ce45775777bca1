import Foundation
import Glibc

/// Runs the benchmarks asked for, one after another, and prints a line per figure.
///
/// Stays on the main thread, which may block: nothing else runs there.
@main
struct BenchmarkProgram {
    @MainActor
    static func main() async {
        let options: Options
        do { options = try Options(Array(CommandLine.arguments.dropFirst())) } catch {
            note("Benchmarks: \(error)\n\(Options.usage)")
            for benchmark in Benchmark.all { note("  \(benchmark.name): \(benchmark.question)") }
            exit(2)
        }
        do {
            for benchmark in Benchmark.all where options.names.contains(benchmark.name) {
                try await run(benchmark, options)
            }
        } catch {
            note("Benchmarks: \(error)")
            exit(1)
        }
    }

    private static func run(_ benchmark: Benchmark, _ options: Options) async throws {
        note("\(benchmark.name): \(benchmark.question)")
        #if DEBUG
            note("a debug build: these figures mean nothing")
            guard options.save == nil else {
                throw BenchmarkError("--save needs a release build: swift run -c release")
            }
        #endif
        let loadBefore = MachineFacts.load
        let started = ContinuousClock.now
        let findings = try await benchmark.run(options)
        note("  \(findings.input); \(Int((ContinuousClock.now - started).seconds)) s")
        for measurement in findings.measurements {
            let line = options.json ? try measurement.jsonLine : measurement.textLine
            FileHandle.standardOutput.write(Data((line + "\n").utf8))
        }
        guard let directory = options.save else { return }
        let facts = await MachineFacts.gathered(load: loadBefore).merging(findings.facts) { $1 }
        let result = SavedResult(
            benchmark: benchmark.name, date: SavedResult.today, rounds: options.rounds, input: findings.input,
            machine: facts, measurements: findings.measurements)
        try result.write(to: directory)
        try ResultTable.rewrite(in: directory)
    }
}

/// Progress goes to standard error.
func note(_ text: String) { FileHandle.standardError.write(Data((text + "\n").utf8)) }

extension Measurement {
    /// The fixed five fields.
    fileprivate var jsonLine: String {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            return String(decoding: try encoder.encode(Line(self)), as: UTF8.self)
        }
    }

    fileprivate var textLine: String {
        let head = "\(name): \(value.short) \(unit) (\(values.low.short)–\(values.high.short))"
        guard let ratio, let against, let ratios else { return head }
        return head + ", \(ratio.short) × \(against) (\(ratios.low.short)–\(ratios.high.short))"
    }

    private struct Line: Encodable {
        let measurement: Measurement

        enum Keys: CodingKey { case name, value, unit, ratio, against }

        init(_ measurement: Measurement) { self.measurement = measurement }

        /// Written out, because a missing ratio shall be null and not absent.
        func encode(to encoder: any Encoder) throws {
            var line = encoder.container(keyedBy: Keys.self)
            try line.encode(measurement.name, forKey: .name)
            try line.encode(measurement.value.rounded(toDigits: 4), forKey: .value)
            try line.encode(measurement.unit, forKey: .unit)
            try line.encode(measurement.ratio?.rounded(toDigits: 4), forKey: .ratio)
            try line.encode(measurement.against, forKey: .against)
        }
    }
}

extension Double {
    /// With so many significant digits; what is larger keeps its whole part.
    func rounded(toDigits digits: Int) -> Double {
        guard isFinite, self != 0 else { return self }
        let scale = pow(10, Double(digits - 1) - floor(log10(abs(self))))
        return scale < 1 ? rounded() : (self * scale).rounded() / scale
    }

    /// For people: three significant digits, thousands apart.
    var short: String {
        if abs(self) >= 1000 { return Int(rounded()).formatted(.number.locale(Locale(identifier: "en"))) }
        return String(format: "%g", rounded(toDigits: 3))
    }
}
