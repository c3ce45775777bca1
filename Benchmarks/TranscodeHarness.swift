import Concurrency
import Foundation
import Glibc
import ImageModel
import Measuring
import Transcoder

/// A transcoder pool like a worker's: one child per core, each with one image at a time.
struct TranscodeHarness: Sendable {
    /// The cost of a run over many images.
    struct Cost: Sendable {
        var childSeconds = 0.0
        var parentSeconds = 0.0
        var wallSeconds = 0.0
        var peakBytes = 0
        /// For each image the peak memory of its child until then.
        var peaks: [Int] = []
    }

    /// Three variants per image: fits 1024 as JPEG, fits 400 as WebP, 160×160 from the centre as JPEG.
    static let three = [
        #"{"name":"card","thumbnail":{"width":1024,"height":1024},"format":"jpeg","quality":80}"#,
        #"{"name":"list","thumbnail":{"width":400,"height":400},"format":"webp","quality":75}"#,
        #"""
        {"name":"thumb","transform":[{"type":"resize","width":160,"height":160,"scaleMode":"aspectFill"}],
         "format":"jpeg","quality":80}
        """#,
    ]
    /// Fits 1024 as JPEG, fits 400 as WebP and as AVIF.
    static let modern =
        three[..<2] + [
            #"""
            {"name":"next","thumbnail":{"width":400,"height":400},"format":"avif","quality":50,"keySuffix":"avif"}
            """#
        ]
    /// Fits 1024 as JPEG, fits 400 as WebP, 160×160 from the centre in a circle as PNG.
    static let avatar =
        three[..<2] + [
            #"""
            {"name":"avatar","transform":[{"type":"resize","width":160,"height":160,"scaleMode":"aspectFill"},
             {"type":"roundCorner","radius":80}],"format":"png"}
            """#
        ]
    /// One variant per image: fits 256.
    static let one = [#"{"name":"small","thumbnail":{"width":256,"height":256},"format":"jpeg","quality":95}"#]

    let pool: TranscoderPool
    let children: Int
    /// Whether the peak is reset for each image, which is possible with one child only.
    private let countsEachPeak: Bool
    private let scratch: String
    private let variants: [Variant]

    /// - Parameters:
    ///   - scratch: a directory for the outputs.
    ///   - variants: as JSON.
    ///   - countsEachPeak: uses one child and measures the peak of each image.
    init(
        scratch: String, variants: [String] = three, allowsPlanes: Bool = true, countsEachPeak: Bool = false
    ) throws {
        self.countsEachPeak = countsEachPeak
        children = countsEachPeak ? 1 : max(1, ProcessInfo.processInfo.activeProcessorCount)
        var configuration = TranscoderPool.Configuration()
        configuration.count = children
        configuration.limits.allowsPlanes = allowsPlanes
        pool = TranscoderPool(configuration: configuration)
        self.scratch = scratch
        self.variants = try variants.map { try Variant(json: $0.utf8) }
    }

    /// Whether every variant of the file can be made; prints the error otherwise.
    func canMake(_ file: String) async -> Bool {
        var cost = Cost()
        do {
            try await make(file, together: true, into: try outputs(), &cost)
            return true
        } catch {
            note("  without \(URL(filePath: file).lastPathComponent): \(error)")
            return false
        }
    }

    /// Whether the colours of a file have another profile than sRGB.
    func hasOwnProfile(_ file: String) async throws -> Bool {
        let source = open(file, O_RDONLY | O_CLOEXEC)
        guard source >= 0 else { throw MeasuringError("\(file) cannot be opened (errno \(errno))") }
        defer { close(source) }
        return try await pool.probe(source).hasOwnProfile
    }

    /// Makes all variants of all images with all children.
    ///
    /// - Parameter together: one request per image, which decodes once, instead of one per variant.
    func make(_ images: [String], together: Bool) async throws -> Cost {
        let parentBefore = processorSeconds
        let start = ContinuousClock.now
        var total = try await withThrowingTaskGroup(of: Cost.self) { group in
            for child in 0..<children {
                group.addTask {
                    let outputs = try outputs()
                    var cost = Cost()
                    for index in stride(from: child, to: images.count, by: children) {
                        try await make(images[index], together: together, into: outputs, &cost)
                    }
                    return cost
                }
            }
            return try await group.reduce(into: Cost()) { total, cost in
                total.childSeconds += cost.childSeconds
                total.peakBytes = max(total.peakBytes, cost.peakBytes)
                total.peaks += cost.peaks
            }
        }
        total.wallSeconds = (ContinuousClock.now - start).seconds
        total.parentSeconds = processorSeconds - parentBefore
        return total
    }

    private func make(_ path: String, together: Bool, into outputs: [OutputFile], _ cost: inout Cost) async throws {
        let source = open(path, O_RDONLY | O_CLOEXEC)
        guard source >= 0 else { throw MeasuringError("\(path) cannot be opened (errno \(errno))") }
        defer { close(source) }
        let all = Array(variants.indices)
        for wanted in together ? [all] : all.map({ [$0] }) {
            for index in wanted { ftruncate(outputs[index].descriptor, 0) }
            if countsEachPeak { for process in pool.children { resetPeak(of: process) } }
            let report = try await pool.transcode(
                TranscodeRequest(
                    source: source, variants: wanted.map { variants[$0] },
                    outputs: wanted.map { outputs[$0].descriptor }, options: .firstFrameOnly))
            for variant in report.variants { _ = try variant.get() }
            cost.childSeconds += report.processorTime.seconds
            cost.peakBytes = max(cost.peakBytes, report.peakResidentBytes)
            cost.peaks.append(report.peakResidentBytes)
        }
    }

    private func outputs() throws -> [OutputFile] { try variants.map { _ in try OutputFile(in: scratch) } }
}

/// Resets the peak of a process's memory.
private func resetPeak(of process: Int32) {
    let file = open("/proc/\(process)/clear_refs", O_WRONLY | O_CLOEXEC)
    guard file >= 0 else { return }
    write(file, "5", 1)
    close(file)
}

/// A file without a name, used for one variant after another.
private final class OutputFile: Sendable {
    let descriptor: Int32

    init(in directory: String) throws {
        var name = Array((directory + "/output-XXXXXX").utf8CString)
        descriptor = mkstemp(&name)
        guard descriptor >= 0 else { throw MeasuringError("no scratch file (errno \(errno))") }
        unlink(name)
    }

    deinit { close(descriptor) }
}
