import Foundation
import Glibc
import Measuring
import Transcoder

extension Benchmark {
    /// The path by planes beside that by libvips and a plain loop, each picture once: every round has its own.
    static let planes = Benchmark(
        name: "planes", question: "What does a picture cost by its planes, by libvips, and in a plain loop?"
    ) { options in
        let scratch = try Scratch()
        return try await PathRun(options, scratch.path).measure()
    }

    /// What children hold over many pictures; a round is all of them, through the same pool.
    static let resident = Benchmark(
        name: "resident", question: "How much memory does a child hold, and does it grow?"
    ) { options in
        let scratch = try Scratch()
        let kitchen = try TranscodeHarness(scratch: scratch.path, countsEachPeak: true)
        let files = try await goodFiles(options, kitchen)
        let rounds = try await Rounds(
            options.rounds,
            [
                {
                    let peaks = try await kitchen.make(files, together: true).peaks.map { Double($0) / 1_048_576 }
                    return ["resident_p95": peaks.quantile(0.95), "resident_most": peaks.max() ?? 0]
                }
            ])
        await kitchen.pool.shutdown()
        return Findings(
            measurements: try rounds.measurements([Figure("resident_p95", "MiB"), Figure("resident_most", "MiB")]),
            input: "\(files.count) pictures a round and before them, one child, replaced after 500 pictures; "
                + "of each picture the most that its child held meanwhile")
    }
}

/// The files of which every variant can be made.
private func goodFiles(_ options: Options, _ kitchen: TranscodeHarness) async throws -> [String] {
    var good: [String] = []
    for file in try pictureFiles(options.pictures) where await kitchen.canMake(file) { good.append(file) }
    return good
}

private struct PathRun {
    private let options: Options
    private let scratch: String
    /// The tasks by name, and the mode in which the loop does the same.
    private static let tasks = [("three", TranscodeHarness.three, "chain"), ("small", TranscodeHarness.one, "256")]

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
        guard plain.count >= options.rounds else { throw MeasuringError("there are too few pictures") }
        var rounds = Rounds()
        for round in 0...options.rounds {
            // The first one is a warm-up, with the pictures of the next.
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
                    Figure("\(task)_\(path)", "ms/picture", against: options.loop == nil ? nil : "\(task)_loop"))
            }
            figures.append(Figure("\(task)_planes_lives", "ms/picture"))
            if options.loop != nil { figures.append(Figure("\(task)_loop", "ms/picture")) }
        }
        figures.append(Figure("three_planes_all", "ms/picture", against: options.loop == nil ? nil : "three_loop_all"))
        if options.loop != nil { figures.append(Figure("three_loop_all", "ms/picture")) }
        figures += [Figure("resident_p95", "MiB"), Figure("resident_most", "MiB")]
        return Benchmark.Findings(
            measurements: try rounds.measurements(figures),
            input: "\(plain.count) pictures without a profile other than sRGB and \(profiled.count) with one, shared "
                + "among \(options.rounds) rounds; 2 children; processor time of the children at their pictures, "
                + "for _lives of all their lives; _all is over both kinds, of which the loop converts none",
            facts: ["libvips": libvips])
    }

    private func values(plain: [String], profiled: [String], turn: Int) async throws -> [String: Double] {
        var values: [String: Double] = [:]
        for (task, variants, mode) in Self.tasks {
            // Whoever comes first has the coldest files: it is another one each time.
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
        }
        let (other, peaks) = try await cost(profiled, TranscodeHarness.three, allowsPlanes: true)
        let shares = (plain: Double(plain.count), profiled: Double(profiled.count))
        func overall(_ one: Double, _ other: Double) -> Double {
            (one * shares.plain + other * shares.profiled) / (shares.plain + shares.profiled)
        }
        values["three_planes_all"] = overall(values["three_planes"] ?? .nan, other)
        if let loop = options.loop {
            let other = profiled.isEmpty ? 0 : try loopCost(self.loop(loop, "chain"), profiled)
            values["three_loop_all"] = overall(values["three_loop"] ?? .nan, other)
        }
        values["resident_p95"] = peaks.quantile(0.95)
        values["resident_most"] = peaks.max() ?? 0
        return values
    }

    private func loop(_ program: String, _ mode: String) -> String { "\(program) -m \(mode) -o \(scratch)" }

    /// Processor milliseconds a picture, and the most MiB its child had held, through a pool of its own.
    private func cost(
        _ files: [String], _ variants: [String], allowsPlanes: Bool
    ) async throws -> (Double, [Double]) {
        guard !files.isEmpty else { return (0, [0]) }
        let kitchen = try TranscodeHarness(scratch: scratch, variants: variants, allowsPlanes: allowsPlanes)
        let cost = try await kitchen.make(files, together: true)
        await kitchen.pool.shutdown()
        return (cost.childSeconds * 1_000 / Double(files.count), cost.peaks.map { Double($0) / 1_048_576 })
    }

    /// Processor time of all children that have ended.
    private var childrenSeconds: Double {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_CHILDREN.rawValue), &usage)
        func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
        return seconds(usage.ru_utime) + seconds(usage.ru_stime)
    }
}
