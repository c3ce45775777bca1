import Concurrency
import Foundation
import Glibc
import ImageModel
import Measuring
import Transcoder

extension Benchmark {
    /// The estimates decide which work is refused before it starts.
    static let estimates = Benchmark(
        name: "estimates", question: "How far is the processor time of a variant from the estimate in its plan?"
    ) { options in
        let scratch = try Scratch()
        let harness = try TranscodeHarness(scratch: scratch.path)
        let run = EstimateRun(pool: harness.pool, scratch: scratch.path)
        do {
            let findings = try await run.measure(options)
            await harness.pool.shutdown()
            return findings
        } catch {
            await harness.pool.shutdown()
            throw error
        }
    }
}

private struct EstimateRun {
    /// One variant of one file.
    private struct Task {
        let name, file, variant: String
    }

    let pool: TranscoderPool
    let scratch: String

    func measure(_ options: Options) async throws -> Benchmark.Findings {
        let tasks = try await tasks()
        let rounds = try await Rounds(
            options.rounds,
            tasks.map { task in
                {
                    let (measured, estimate) = try await cost(task)
                    return [task.name: measured, "\(task.name)_estimate": estimate]
                }
            })
        let figures = tasks.flatMap { task in
            [
                Figure(task.name, "ms", against: "\(task.name)_estimate"), Figure("\(task.name)_estimate", "ms"),
            ]
        }
        return Benchmark.Findings(
            measurements: try rounds.measurements(figures),
            input:
                "an image of 1600×1200 and an animation of 480×270 with 48 frames, of waves, edges and noise; read_ "
                + "makes a PNG of 200 pixels, write_ a file of 800 from PNG, draw_ a PNG of 1600, frames_ an animation "
                + "of 160 in its own format, whole_ one of full size; processor time of a child",
            facts: ["libvips": try await pool.selfTest().libvips])
    }

    private func tasks() async throws -> [Task] {
        let image = NoiseImage(width: 1600, height: 1200)
        let still = try save(image.still, "still.png")
        let animation = try save(image.animation(width: 480, height: 270, frames: 48), "animation.png")
        var tasks: [Task] = []
        for format in ["jpeg", "png", "gif", "webp", "avif", "heic"] {
            let named = #""format":"\#(format)""#
            let source =
                format == "png" ? still : try await make(still, #""keySuffix":"x",\#(named)"#, "still.\(format)")
            tasks.append(Task(name: "read_\(format)", file: source, variant: Self.box(200, #""format":"png""#)))
            tasks.append(Task(name: "write_\(format)", file: still, variant: Self.box(800, named)))
        }
        for format in ["jxl", "tiff"] {
            tasks.append(
                Task(name: "write_\(format)", file: still, variant: Self.box(800, #""format":"\#(format)""#)))
        }
        tasks.append(
            Task(
                name: "write_jxl_lossless", file: still,
                variant: Self.box(800, #""format":"jxl","encode":{"lossless":true}"#)))
        let drawings = [
            ("rotate", #"{"type":"rotate","angle":0.3}"#), ("blur", #"{"type":"blur","radius":9}"#),
            ("filter", #"{"type":"filter","name":"CIColorInvert"}"#),
        ]
        for (name, transform) in drawings {
            tasks.append(Task(name: "draw_\(name)", file: still, variant: #""transform":[\#(transform)]"#))
        }
        for format in ["gif", "webp", "png"] {
            let whole = #""animation":"frames","format":"\#(format)""#
            let source = format == "png" ? animation : try await make(animation, whole, "animation.\(format)")
            tasks.append(Task(name: "frames_\(format)", file: source, variant: Self.box(160, #""keySuffix":"x""#)))
            tasks.append(Task(name: "whole_\(format)", file: animation, variant: whole))
        }
        return tasks
    }

    private static func box(_ side: Int, _ fields: String) -> String {
        #""thumbnail":{"width":\#(side),"height":\#(side)},\#(fields)"#
    }

    private func save(_ bytes: [UInt8], _ name: String) throws -> String {
        let path = "\(scratch)/\(name)"
        try Data(bytes).write(to: URL(filePath: path))
        return path
    }

    private func make(_ file: String, _ variant: String, _ name: String) async throws -> String {
        let path = "\(scratch)/\(name)"
        _ = try await cost(Task(name: name, file: file, variant: variant), into: path)
        return path
    }

    /// Processor milliseconds of a child, and the plan's estimate.
    private func cost(_ task: Task, into path: String? = nil) async throws -> (Double, Double) {
        let variant = try Variant(json: #"{"name":"v",\#(task.variant)}"#.utf8)
        let source = open(task.file, O_RDONLY | O_CLOEXEC)
        let output = open(path ?? "\(scratch)/output", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        defer { for descriptor in [source, output] where descriptor >= 0 { close(descriptor) } }
        guard source >= 0, output >= 0 else { throw MeasuringError("\(task.file) or \(scratch) cannot be opened") }
        let plan = try await pool.plan(source, variants: [variant])
        let report = try await pool.transcode(TranscodeRequest(source: source, variants: [variant], outputs: [output]))
        let made = try report.variants[0].get()
        guard !made.copied, made.replaced == nil else {
            throw MeasuringError("\(task.name): another format was written")
        }
        return (report.processorTime.seconds * 1000, plan.milliseconds)
    }
}
