import Foundation
import Measuring
import Transcoder

extension Benchmark {
    static let transcode = Benchmark(
        name: "transcode",
        question: "What do three variants of an image cost in the transcoders, and in the parent process?"
    ) { options in
        let scratch = try Scratch()
        let harness = try TranscodeHarness(scratch: scratch.path)
        do {
            let findings = try await measureTranscoding(in: harness, options, scratch)
            await harness.pool.shutdown()
            return findings
        } catch {
            await harness.pool.shutdown()
            throw error
        }
    }
}

private func measureTranscoding(
    in harness: TranscodeHarness, _ options: Options, _ scratch: Scratch
) async throws -> Benchmark.Findings {
    let good = try await goodFiles(options, harness)
    guard !good.isEmpty else { throw MeasuringError("there is no image") }
    // Repeats few images, so that a round takes long enough.
    let images = Array(repeatElement(good, count: max(1, 100 / good.count)).joined())

    var steps: [Rounds.Step] = [
        {
            let cost = try await harness.make(images, together: true)
            let perImage = 1_000 / Double(images.count)
            return [
                "transcode_cpu": cost.childSeconds * perImage, "parent_cpu": cost.parentSeconds * perImage,
                "images": Double(images.count) / cost.wallSeconds,
                "images_bound": Double(images.count * harness.children) / cost.childSeconds,
                "child_peak": Double(cost.peakBytes) / 1_048_576,
            ]
        },
        {
            let cost = try await harness.make(images, together: false)
            return ["apart_cpu": cost.childSeconds * 1_000 / Double(images.count)]
        },
    ]
    var figures = [
        Figure("transcode_cpu", "ms/image", against: "apart_cpu"),
        Figure("parent_cpu", "ms/image", against: "transcode_cpu"),
        Figure("images", "images/s", against: "images_bound"),
        Figure("child_peak", "MiB"),
        Figure("apart_cpu", "ms/image"),
        Figure("images_bound", "images/s"),
    ]
    if let loop = options.loop {
        steps.append { ["loop_cpu": try loopCost(loop, images)] }
        figures.insert(Figure("transcode_cpu_to_loop", "ms/image", of: "transcode_cpu", against: "loop_cpu"), at: 1)
        figures.append(Figure("loop_cpu", "ms/image"))
    }
    let rounds = try await Rounds(options.rounds, steps)
    let bytes = try good.reduce(0) { sum, file in
        sum + (try FileManager.default.attributesOfItem(atPath: file)[.size] as? Int ?? 0)
    }
    return Benchmark.Findings(
        measurements: try rounds.measurements(figures),
        input:
            "\(options.images == nil ? "the tests' images" : "a directory"): \(images.count) images a round, "
            + "\(good.count) files, \((Double(bytes / good.count) / 1024).short) KiB each; "
            + "\(harness.children) children; apart_cpu requests each variant by itself",
        facts: ["libvips": try await harness.pool.selfTest().libvips])
}

/// The regular files of a directory, by default of the tests' images.
func imageFiles(_ directory: String?) throws -> [String] {
    let directory = directory ?? "Tests/TranscoderTests/Images"
    guard let names = try? FileManager.default.contentsOfDirectory(atPath: directory) else {
        throw MeasuringError("there is no directory \(directory); run in the root of the package, or use --images DIR")
    }
    return names.sorted().map { directory + "/" + $0 }
}

/// CPU milliseconds per image of another program for the same files.
func loopCost(_ command: String, _ images: [String]) throws -> Double {
    struct Line: Decodable {
        let cpu_ms_img: Double
    }
    let output = try Shell.output("cat <<'END' | \(command)\n\(images.joined(separator: "\n"))\nEND")
    guard let line = try? JSONDecoder().decode(Line.self, from: Data(output.utf8)) else {
        throw MeasuringError("--loop: '\(command)' printed no JSON line with cpu_ms_img")
    }
    return line.cpu_ms_img
}
