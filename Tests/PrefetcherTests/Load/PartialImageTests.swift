import Concurrency
import Downloader
import Foundation
import ImageModel
import TestSupport
import TestTranscoder
import Testing
import Transcoder

@testable import Prefetcher

/// Partial images of loads whose server sends the next part of the body when the image of the one before is there.
@Suite(.timeLimit(.minutes(2)))
struct PartialImageTests {
    private let harness: ManagerHarness

    init() throws { harness = try ManagerHarness() }

    /// A picture of 320 by 240 pixels in some format.
    private func picture(_ format: String) async throws -> [UInt8] {
        let variant = try Variant(
            json: #"{"name":"v","transform":[{"type":"resize","width":320,"height":240}],"format":\#(format)}"#.utf8)
        let directory = try TemporaryDirectory(), path = directory.path + "/file"
        #expect(FileManager.default.createFile(atPath: path, contents: nil))
        let plain = PackageRoot.path + "/Tests/TranscoderTests/Images/plain.jpg"
        let source = try FileHandle(forReadingFrom: URL(filePath: plain))
        let output = try FileHandle(forUpdating: URL(filePath: path))
        let request = TranscodeRequest(
            source: source.fileDescriptor, variants: [variant], outputs: [output.fileDescriptor])
        let report = try await harness.transcoders.transcode(
            failure: { $0 }, open: { () throws(TranscodeError) in request })
        _ = try report.variants[0].get()
        return Array(try Data(contentsOf: URL(filePath: path)))
    }

    private func progressive() async throws -> [UInt8] {
        try await picture(#""jpeg","quality":95,"encode":{"progressive":true}"#)
    }

    /// The images of a load, and what the load reported. Each gate opens with an image.
    private func images(
        of file: [UInt8], parts: Int, variants: String = "[]", _ options: LoadOptions = .progressiveLoad,
        _ change: (inout ImageManager.Configuration) -> Void = { _ in }
    ) async throws -> (images: [PartialImage], report: LoadReport) {
        let gates = (1..<parts).map { _ in OriginGate() }, seen = Locked<[PartialImage]>([])
        var steps: [OriginReply.Step] = [.bytes(OriginReply.head(200, [("Content-Length", "\(file.count)")]))]
        for part in 0..<parts {
            steps.append(.bytes(Array(file[file.count * part / parts..<file.count * (part + 1) / parts])))
            if part < gates.count { steps.append(.wait(gates[part])) }
        }
        harness.origin.on("/slow", OriginReply(steps))
        let manager = try harness.manager {
            $0.partialInterval = .milliseconds(1)
            change(&$0)
        }
        var request = try harness.request("/slow", options, variants: variants)
        request.partial = { image in
            seen.withLock { $0.append(image) }
            // The last image may come with the end of the body.
            if image.number <= gates.count { gates[image.number - 1].openUp() }
        }
        let report = try await manager.load(request)
        return (seen.withLock { $0 }, report)
    }

    @Test func `a load delivers images of what has arrived, in order, and stores the whole alone`() async throws {
        let file = try await progressive()
        let (images, report) = try await images(of: file, parts: 4)
        #expect(images.count >= 3)
        #expect(images.map(\.number) == Array(1...images.count))
        #expect(images.map(\.received) == images.map(\.received).sorted())
        #expect(Set(images.map(\.bytes)).count == images.count, "none is like the one before")
        #expect(images.allSatisfy { $0.format == .jpeg && $0.width == 320 && $0.height == 240 })
        #expect(report.stored.map(\.origin) == [.downloaded])
        #expect(harness.stored(harness.origin.url("/slow")) == file)
    }

    @Test func `a partial image is drawn as the first variant`() async throws {
        let (images, report) = try await images(
            of: try await progressive(), parts: 3,
            variants: #"""
                [{"name":"a","thumbnail":{"width":160,"height":160},"format":"webp"},
                {"name":"b","thumbnail":{"width":20,"height":20}}]
                """#)
        #expect(images.count >= 2)
        #expect(images.allSatisfy { $0.format == .webp && $0.width == 160 && $0.height == 120 })
        #expect(report.stored.map(\.name) == [nil, "a", "b"])
    }

    @Test func `a part that cannot be drawn has no image, and the load goes on`() async throws {
        // A comment of 8 KiB is before the size.
        let picture = try await progressive(), comment = [0xFF, 0xFE, 0x20, 0] + [UInt8](repeating: 65, count: 8190)
        let file = picture[..<2] + comment + picture[2...], gate = OriginGate(), seen = CallCount()
        let head = OriginReply.head(200, [("Content-Length", "\(file.count)")])
        harness.origin.on(
            "/slow", OriginReply([.bytes(head + file[..<4096]), .wait(gate), .bytes(Array(file[4096...]))]))
        let transcoders = PartialRequests(harness.transcoders) { gate.openUp() }
        var request = try harness.request("/slow", .progressiveLoad, variants: "[]")
        request.partial = { _ in seen.add() }
        #expect(try await manager(transcoders).load(request).downloads == 1)
        #expect(seen.value < transcoders.requests.value)
    }

    @Test func `nothing is asked for without the option, and for a decrypted or cached original`() async throws {
        let file = try await progressive(), transcoders = PartialRequests(harness.transcoders)
        harness.origin.on("/whole", .body(file))
        harness.origin.on("/text", .body(Array(Data(file).base64EncodedData())))
        let manager = try manager(transcoders)
        var request = try harness.request("/whole", variants: "[]")
        request.partial = { _ in }
        _ = try await manager.load(request)
        request.options = [.progressiveLoad, .refreshCached]
        _ = try await manager.load(request)
        request.url = harness.origin.url("/text")
        request.context = try LoadContext(json: #"{"downloadDecryptor":"base64"}"#.utf8)
        _ = try await manager.load(request)
        #expect(transcoders.requests.value == 0)
    }

    private func manager(_ transcoders: PartialRequests) throws -> ImageManager {
        var configuration = ImageManager.Configuration(sources: [try harness.web])
        configuration.partialInterval = .milliseconds(1)
        return ImageManager(cache: harness.cache, transcoders: transcoders, configuration: configuration)
    }

    @Test func `however a body grows, the images are bounded and take a fifth of the time at most`() {
        var pace = PartialPace(interval: .milliseconds(150))
        #expect((1...1000).count { pace.accepts($0) } == PartialPace.limit)
        #expect(pace.isOver)
        pace = PartialPace(interval: .milliseconds(150))
        #expect(!pace.accepts(0) && pace.accepts(1) && !pace.accepts(1) && pace.accepts(2))
        #expect(pace.wait == .milliseconds(150))
        pace.took(.seconds(1), after: .seconds(3))
        #expect(pace.wait == .seconds(4))
        pace.took(.milliseconds(10), after: .seconds(16))
        #expect(pace.wait == .seconds(1))
        pace.took(.milliseconds(10), after: .seconds(1))
        #expect(pace.wait == .milliseconds(150))
    }
}

/// A transcoder that counts the requests for partial images.
private struct PartialRequests: Transcoding {
    let transcoders: DirectTranscoder
    let requests = CallCount()
    let answered: @Sendable () -> Void

    init(_ transcoders: DirectTranscoder, _ answered: @escaping @Sendable () -> Void = {}) {
        (self.transcoders, self.answered) = (transcoders, answered)
    }

    var count: Int { transcoders.count }

    func transcode<Failure: Error>(
        failure: (TranscodeError) -> Failure, open: () throws(Failure) -> TranscodeRequest
    ) async throws(Failure) -> TranscodeReport {
        var isPartial = false
        defer { if isPartial { answered() } }
        return try await transcoders.transcode(failure: failure) { () throws(Failure) in
            let request = try open()
            isPartial = request.isPartial
            if isPartial { requests.add() }
            return request
        }
    }
}
