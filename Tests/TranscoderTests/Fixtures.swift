import Foundation
import Glibc
import ImageModel
import Testing

@testable import Transcoder

/// The files of this test target.
enum Fixtures {
    static func path(_ name: String) -> String { Bundle.module.bundlePath + "/" + name }

    static func image(_ name: String) throws -> [UInt8] { try bytes(path("Images/\(name)")) }

    static func rows(_ file: String, _ list: String) throws -> [[String: Any]] {
        let object = try JSONSerialization.jsonObject(with: Data(try bytes(path("Vectors/\(file)"))))
        return try #require((object as? [String: Any])?[list] as? [[String: Any]])
    }

    static func bytes(_ path: String) throws -> [UInt8] { Array(try Data(contentsOf: URL(fileURLWithPath: path))) }

    /// The directory of SDWebImage's test images, which are not part of this repository; nil where it is missing.
    static let shared: String? = {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let home =
            ProcessInfo.processInfo.environment["LARDER_SHARED"]
            ?? root.deletingLastPathComponent().appendingPathComponent("shared").path
        let images = home + "/spec/images"
        let isThere = FileManager.default.fileExists(atPath: images)
        if !isThere { print("tests with SDWebImage's images do not run: \(images) is not there") }
        return isThere ? images : nil
    }()
}

/// A file without a name, open for reading and writing.
struct ScratchFile: ~Copyable {
    let descriptor: Int32

    init(_ content: [UInt8] = []) throws {
        var name = Array((NSTemporaryDirectory() + "/larder-XXXXXX").utf8CString)
        descriptor = mkstemp(&name)
        try #require(descriptor >= 0)
        unlink(name)
        #expect(write(descriptor, content, content.count) == content.count)
    }

    deinit { close(descriptor) }
}

/// A pool of real children, which run the built program.
struct TranscodeHarness: Sendable {
    let pool: TranscoderPool

    init(_ adjust: (inout TranscoderPool.Configuration) -> Void = { _ in }) {
        var configuration = TranscoderPool.Configuration()
        configuration.count = 1
        let products = URL(fileURLWithPath: Bundle.module.bundlePath).deletingLastPathComponent()
        configuration.executable = products.appendingPathComponent("larder").path
        // Far more than any test image takes, so that a busy machine does not cause time-outs.
        configuration.limits.softTime = .seconds(120)
        configuration.limits.hardTime = .seconds(150)
        adjust(&configuration)
        pool = TranscoderPool(configuration: configuration)
    }

    struct Output {
        let report: TranscodeReport
        let files: [[UInt8]]

        func made(_ index: Int = 0) throws -> TranscodedVariant { try report.variants[index].get() }

        func sample(_ index: Int = 0) throws -> PixelSample { try #require(PixelSample(files[index])) }
    }

    /// Transcodes an image. Variants are given as the JSON between the braces, without the name.
    func make(
        _ image: [UInt8], _ variants: String..., scale: Double = 1, transformsAnimated: Bool = false,
        scaleDownBytes: Int? = nil
    ) async throws -> Output {
        let parsed = try variants.enumerated().map { index, fields in
            try Variant(json: #"{"name":"v\#(index)",\#(fields)}"#.utf8)
        }
        let source = try ScratchFile(image)
        var descriptors: [Int32] = []
        defer { for descriptor in descriptors { close(descriptor) } }
        for _ in parsed {
            let output = try ScratchFile()
            descriptors.append(dup(output.descriptor))
        }
        var request = TranscodeRequest(
            source: source.descriptor, variants: parsed, outputs: descriptors, scale: scale,
            transformsAnimated: transformsAnimated)
        request.scaleDownBytes = scaleDownBytes
        let report = try await pool.transcode(request)
        return Output(report: report, files: descriptors.map(Self.content))
    }

    private static func content(_ descriptor: Int32) -> [UInt8] {
        let length = Int(lseek(descriptor, 0, SEEK_END))
        var bytes = [UInt8](repeating: 0, count: length)
        let read = pread(descriptor, &bytes, length, 0)
        return Array(bytes.prefix(max(0, read)))
    }

    /// The error of transcoding an image; nil where it succeeds.
    func refusal(_ image: [UInt8], _ variant: String = #""keySuffix":"x""#) async throws -> TranscodeError? {
        do {
            _ = try await make(image, variant)
            return nil
        } catch let error as TranscodeError {
            return error
        }
    }
}

func isClose(_ pixel: [Int], _ expected: [Int], within tolerance: Int) -> Bool {
    zip(pixel, expected).allSatisfy { abs($0 - $1) <= tolerance }
}
