import Foundation
import Measuring
import Transcoder

extension Benchmark {
    /// Three variants a picture: fits 1024 as JPEG, fits 400 as WebP, 160×160 from the centre as JPEG.
    static let transcode = Benchmark(
        name: "transcode", question: "What does a picture cost through the pool's children, and what beside them?"
    ) { options in
        let scratch = try Scratch()
        let kitchen = try TranscodeHarness(scratch: scratch.path)
        do {
            let findings = try await measureTranscoding(in: kitchen, options, scratch)
            await kitchen.pool.shutdown()
            return findings
        } catch {
            await kitchen.pool.shutdown()
            throw error
        }
    }
}

private func measureTranscoding(
    in kitchen: TranscodeHarness, _ options: Options, _ scratch: Scratch
) async throws -> Benchmark.Findings {
    let files = try pictureFiles(options.pictures)
    var good: [String] = []
    for file in files where await kitchen.canMake(file) { good.append(file) }
    guard !good.isEmpty else { throw MeasuringError("none of \(files.count) files is a picture") }
    // Few small pictures would be over before anything can be measured.
    let pictures = Array(repeatElement(good, count: max(1, 100 / good.count)).joined())

    var steps: [Rounds.Step] = [
        {
            let cost = try await kitchen.make(pictures, together: true)
            let perPicture = 1_000 / Double(pictures.count)
            return [
                "transcode_cpu": cost.childSeconds * perPicture, "parent_cpu": cost.parentSeconds * perPicture,
                "pictures": Double(pictures.count) / cost.wallSeconds,
                "pictures_bound": Double(pictures.count * kitchen.children) / cost.childSeconds,
                "child_peak": Double(cost.peakBytes) / 1_048_576,
            ]
        },
        {
            let cost = try await kitchen.make(pictures, together: false)
            return ["apart_cpu": cost.childSeconds * 1_000 / Double(pictures.count)]
        },
    ]
    var figures = [
        Figure("transcode_cpu", "ms/picture", against: "apart_cpu"),
        Figure("parent_cpu", "ms/picture", against: "transcode_cpu"),
        Figure("pictures", "pictures/s", against: "pictures_bound"),
        Figure("child_peak", "MiB"),
        Figure("apart_cpu", "ms/picture"),
        Figure("pictures_bound", "pictures/s"),
    ]
    if let loop = options.loop {
        steps.append { ["loop_cpu": try loopCost(loop, pictures)] }
        figures.insert(Figure("transcode_cpu_to_loop", "ms/picture", of: "transcode_cpu", against: "loop_cpu"), at: 1)
        figures.append(Figure("loop_cpu", "ms/picture"))
    }
    let rounds = try await Rounds(options.rounds, steps)
    let bytes = try good.reduce(0) { sum, file in
        sum + (try FileManager.default.attributesOfItem(atPath: file)[.size] as? Int ?? 0)
    }
    return Benchmark.Findings(
        measurements: try rounds.measurements(figures),
        input:
            "\(options.pictures == nil ? "the tests' pictures" : "a directory"): \(pictures.count) pictures a round, "
            + "\(good.count) of \(files.count) files can be made, \((Double(bytes / good.count) / 1024).short) KiB each; "
            + "\(kitchen.children) children; apart_cpu asks for each variant by itself",
        facts: ["libvips": try await kitchen.pool.selfTest().libvips])
}

/// The regular files of a directory, by default of the tests' pictures.
func pictureFiles(_ directory: String?) throws -> [String] {
    let directory = directory ?? "Tests/TranscoderTests/Images"
    guard let names = try? FileManager.default.contentsOfDirectory(atPath: directory) else {
        throw MeasuringError("there is no directory \(directory); start in the package's root, or use --pictures DIR")
    }
    return names.sorted().map { directory + "/" + $0 }
}

/// CPU ms per picture of another program over the same files.
func loopCost(_ command: String, _ pictures: [String]) throws -> Double {
    struct Line: Decodable {
        let cpu_ms_img: Double
    }
    let output = try Shell.output("cat <<'END' | \(command)\n\(pictures.joined(separator: "\n"))\nEND")
    guard let line = try? JSONDecoder().decode(Line.self, from: Data(output.utf8)) else {
        throw MeasuringError("--loop: '\(command)' printed no JSON line with cpu_ms_img")
    }
    return line.cpu_ms_img
}
