import Foundation
import Glibc
import Measuring
import Transcoder

extension Benchmark {
    /// Every round has its own images, so that each image is read once.
    static let planes = Benchmark(
        name: "planes", question: "What does an image cost with planes, with libvips, and in a plain loop over libvips?"
    ) { options in
        let scratch = try Scratch()
        return try await PathRun(options, scratch.path).measure()
    }

    /// A round sends all images through the same pool.
    static let resident = Benchmark(
        name: "resident", question: "How much memory does a transcoder use, and does it grow?"
    ) { options in
        let scratch = try Scratch()
        let harness = try TranscodeHarness(scratch: scratch.path, countsEachPeak: true)
        let files = try await goodFiles(options, harness)
        let rounds = try await Rounds(
            options.rounds,
            [
                {
                    let peaks = try await harness.make(files, together: true).peaks.map { Double($0) / 1_048_576 }
                    return ["resident_p95": peaks.quantile(0.95), "resident_most": peaks.max() ?? 0]
                }
            ])
        await harness.pool.shutdown()
        return Findings(
            measurements: try rounds.measurements([Figure("resident_p95", "MiB"), Figure("resident_most", "MiB")]),
            input: "\(files.count) images a round and before them, one child, replaced after 500 images; "
                + "the peak of the child for each image")
    }
}

/// The files with which every variant can be made.
func goodFiles(_ options: Options, _ harness: TranscodeHarness) async throws -> [String] {
    var good: [String] = []
    for file in try imageFiles(options.images) where await harness.canMake(file) { good.append(file) }
    return good
}

private struct PathRun {
    private let options: Options
    private let scratch: String
    /// The tasks by name, and the mode of the loop for the same task.
    private static let tasks = [
        ("three", TranscodeHarness.three, "chain"), ("modern", Array(TranscodeHarness.modern), "modern"),
        ("avatar", Array(TranscodeHarness.avatar), "avatar"), ("small", TranscodeHarness.one, "256"),
    ]

    init(_ options: Options, _ scratch: String) {
        self.options = options
        self.scratch = scratch
    }

    func measure() async throws -> Benchmark.Findings {
        let probe = try TranscodeHarness(scratch: scratch)
        var plain: [String] = [], profiled: [String] = []
        for file in try await goodFiles(options, probe) {
            if try await probe.hasOwnProfile(file) { profiled.append(file) } else { plain.append(file) }
        }
        let libvips = try await probe.pool.selfTest().libvips
        await probe.pool.shutdown()
        guard plain.count >= options.rounds else { throw MeasuringError("there are too few images") }
        var rounds = Rounds()
        for round in 0...options.rounds {
            // The first one is a warm-up, with the images of the next.
            let number = max(0, round - 1)
            func share(_ files: [String]) -> [String] {
                stride(from: number, to: files.count, by: options.rounds).map { files[$0] }
            }
            let values = try await values(plain: share(plain), profiled: share(profiled), turn: round)
            note("  round \(round): \(values.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value.short)" })")
            if round > 0 { rounds.add(values) }
        }
        var figures: [Figure] = []
        for (task, _, _) in Self.tasks {
            for path in ["planes", "libvips"] {
                figures.append(
                    Figure("\(task)_\(path)", "ms/image", against: options.loop == nil ? nil : "\(task)_loop"))
            }
            figures.append(Figure("\(task)_planes_lives", "ms/image"))
            if options.loop != nil { figures.append(Figure("\(task)_loop", "ms/image")) }
            figures.append(
                Figure("\(task)_planes_all", "ms/image", against: options.loop == nil ? nil : "\(task)_loop_all"))
            if options.loop != nil { figures.append(Figure("\(task)_loop_all", "ms/image")) }
        }
        figures += [Figure("resident_p95", "MiB"), Figure("resident_most", "MiB")]
        return Benchmark.Findings(
            measurements: try rounds.measurements(figures),
            input: "\(plain.count) images without a profile other than sRGB and \(profiled.count) with one, shared "
                + "among \(options.rounds) rounds; 2 children; processor time of the children while they have an image, "
                + "for _lives of all their lifetime; _all includes images with a profile, which the loop does not convert",
            facts: ["libvips": libvips])
    }

    private func values(plain: [String], profiled: [String], turn: Int) async throws -> [String: Double] {
        var values: [String: Double] = [:], resident: [Double] = []
        for (task, variants, mode) in Self.tasks {
            // The first one reads the files with a cold cache, so the order changes each time.
            for place in 0..<3 {
                switch (place + turn) % 3 {
                case 0:
                    let before = childrenSeconds
                    let (cost, _) = try await cost(plain, variants, allowsPlanes: true)
                    values["\(task)_planes"] = cost
                    values["\(task)_planes_lives"] = (childrenSeconds - before) * 1_000 / Double(plain.count)
                case 1: values["\(task)_libvips"] = try await cost(plain, variants, allowsPlanes: false).0
                default:
                    if let loop = options.loop { values["\(task)_loop"] = try loopCost(self.loop(loop, mode), plain) }
                }
            }
            let (other, peaks) = try await cost(profiled, variants, allowsPlanes: true)
            func overall(_ one: Double?, _ other: Double) -> Double {
                let (count, others) = (Double(plain.count), Double(profiled.count))
                return ((one ?? .nan) * count + other * others) / (count + others)
            }
            values["\(task)_planes_all"] = overall(values["\(task)_planes"], other)
            if let loop = options.loop {
                let other = profiled.isEmpty ? 0 : try loopCost(self.loop(loop, mode), profiled)
                values["\(task)_loop_all"] = overall(values["\(task)_loop"], other)
            }
            if task == "three" { resident = peaks }
        }
        let peaks = resident
        values["resident_p95"] = peaks.quantile(0.95)
        values["resident_most"] = peaks.max() ?? 0
        return values
    }

    private func loop(_ program: String, _ mode: String) -> String { "\(program) -m \(mode) -o \(scratch)" }

    /// Processor milliseconds per image and the peaks of the child in MiB, with a new pool.
    private func cost(
        _ files: [String], _ variants: [String], allowsPlanes: Bool
    ) async throws -> (Double, [Double]) {
        guard !files.isEmpty else { return (0, [0]) }
        let harness = try TranscodeHarness(scratch: scratch, variants: variants, allowsPlanes: allowsPlanes)
        let cost = try await harness.make(files, together: true)
        await harness.pool.shutdown()
        return (cost.childSeconds * 1_000 / Double(files.count), cost.peaks.map { Double($0) / 1_048_576 })
    }
}
