import DiskCache
import Downloader
import Foundation
import ImageModel
import TestSupport
import Testing
import Transcoder

@testable import Prefetcher

/// Own coders in the way of a load.
@Suite(.timeLimit(.minutes(2)))
struct ManagerCoderTests {
    private let harness: ManagerHarness
    private let coder, other: ImageCoder

    init() throws {
        harness = try ManagerHarness()
        coder = try ImageCoder(
            name: "rest", mediaType: "image/x-rest", signatures: [.init(Array("MADEUP".utf8))],
            command: ["/usr/bin/tail", "-c", "+7", "/dev/stdin"])
        let pam = #"P7\nWIDTH 1\nHEIGHT 1\nDEPTH 2\nMAXVAL 255\nENDHDR\n\1\1"#
        other = try ImageCoder(name: "dot", signatures: [.init([1])], command: ["/bin/sh", "-c", "printf '\(pam)'"])
    }

    private var limits: TranscodeLimits {
        var limits = TranscodeLimits()
        limits.coders = [other, coder]
        return limits
    }

    private func manager() throws -> ImageManager {
        var configuration = TranscoderPool.Configuration()
        (configuration.executable, configuration.limits) = (Products.transcoder, limits)
        var managing = ImageManager.Configuration(sources: [try harness.web])
        managing.limits = limits
        return ImageManager(
            cache: harness.cache, transcoders: TranscoderPool(configuration: configuration), configuration: managing)
    }

    @Test func `the original is stored as it is, and its picture is drawn`() async throws {
        let file = Array("MADEUP".utf8) + (try TestImage.bytes("rgb.png"))
        harness.origin.on("/a.made", .body(file))
        let manager = try manager()
        let report = try await manager.load(try harness.request("/a.made"))
        #expect(report.stored.map(\.format) == ["rest", "jpeg"])
        let url = harness.origin.url("/a.made")
        #expect(harness.stored(url) == file)
        #expect(ImageFormat.recognise(try #require(harness.storedHalf(url))) == .jpeg)
        let again = try await manager.load(try harness.request("/a.made"))
        #expect(again.downloads == 0, "the original in the cache has an accepted format")
    }

    @Test func `the context's imageCoder reads bytes of any signature, and an unknown one is refused`() async throws {
        let file = Array("OTHERS".utf8) + (try TestImage.bytes("rgb.png"))
        harness.origin.on("/b.made", .body(file))
        let manager = try manager()
        var request = try harness.request("/b.made")
        request.context = try LoadContext(json: #"{"imageCoder":"rest"}"#.utf8)
        #expect(try await manager.load(request).stored.map(\.format) == ["rest", "jpeg"])
        request.context = try LoadContext(json: #"{"imageCoder":"other"}"#.utf8)
        let error = await #expect(throws: LoadError.self) { try await manager.load(request) }
        #expect(error?.failure.code == 105)
        #expect(error?.failure.message.contains("'other'") == true)
        harness.origin.on("/c.made", .body(file))
        let plain = await #expect(throws: LoadError.self) { try await manager.load(try harness.request("/c.made")) }
        #expect(plain?.failure.code == 1001, "without the context the bytes are no image")
    }

    @Test func `equal bytes read by another coder are another picture`() async throws {
        let file = Array("MADEUP".utf8) + (try TestImage.bytes("rgb.png"))
        let manager = try manager()
        for (path, context, format) in [("/a.made", "{}", "jpeg"), ("/b.made", #"{"imageCoder":"dot"}"#, "png")] {
            harness.origin.on(path, .body(file))
            var request = try harness.request(path)
            request.context = try LoadContext(json: context.utf8)
            #expect(try await manager.load(request).stored.last?.format == format)
        }
    }

    @Test func `a coder's signature behind a built-in one is waited for`() throws {
        var limits = TranscodeLimits()
        limits.coders = [
            try ImageCoder(name: "raw", signatures: [.init(Array("CR".utf8), at: 8)], command: ["/bin/true"])
        ]
        let gate = FormatGate(limits)
        let file: [UInt8] = [0x49, 0x49, 0x2a, 0, 16, 0, 0, 0] + Array("CR".utf8)
        func verdict(_ count: Int) -> PrefixVerdict { file.prefix(count).withUnsafeBytes { gate.inspect($0) } }
        guard case .undecided = verdict(8) else { throw Unexpected() }
        guard case .accepted = verdict(10) else { throw Unexpected() }
        let tiff: [UInt8] = file.prefix(8) + [0, 0]
        guard case .refused = tiff.withUnsafeBytes({ gate.inspect($0) }) else { throw Unexpected() }
    }

    private struct Unexpected: Error {}
}
