import Concurrency
import Foundation
import Glibc
import Measuring

/// Runs the given benchmarks one after another and prints a line per figure.
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
                throw MeasuringError("--save needs a release build: swift run -c release")
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
        try await SavedResult.save(
            benchmark.name, rounds: options.rounds, input: findings.input, load: loadBefore, facts: findings.facts,
            findings.measurements, in: directory)
    }
}

/// Progress goes to standard error.
func note(_ text: String) { FileHandle.standardError.write(Data((text + "\n").utf8)) }
