import ImageModel
import TestTranscoder
import Testing

@testable import Codecs
@testable import Transcoder

/// Pictures of the first part of a file.
@Suite(.timeLimit(.minutes(2)))
struct PartialFileTests {
    /// 120 by 90 pixels.
    private let photo: SyntheticPhoto

    init() {
        var random = SeededRandom(44)
        photo = SyntheticPhoto(120, 90, &random)
    }

    /// A way to write the photo.
    enum Kind: String, CaseIterable {
        case baselineJPEG, progressiveJPEG, png, interlacedPNG, lossyWebP, losslessWebP, extendedWebP, gif
    }

    private func file(_ kind: Kind) async throws -> [UInt8] {
        func made(_ format: String) async throws -> [UInt8] {
            let variant = try Variant(json: #"{"name":"v","format":\#(format)}"#.utf8)
            return try await Self.made(try photo.jpeg(["-quality", "95"]), variant).bytes
        }
        return switch kind {
        case .baselineJPEG: try photo.jpeg(["-quality", "90"])
        case .progressiveJPEG: try photo.jpeg(["-quality", "90", "-progressive"])
        case .png: SyntheticPNG.color.file(photo)
        case .interlacedPNG: try await made(#""png","encode":{"progressive":true}"#)
        case .lossyWebP: try photo.webp(quality: 90, isExtended: false)
        case .losslessWebP: try photo.losslessWebP()
        case .extendedWebP: try photo.webp(quality: 90, isExtended: true)
        case .gif: try await made(#""gif""#)
        }
    }

    private static func made(
        _ file: [UInt8], _ variant: Variant, isPartial: Bool = false, raw: Bool = false,
        options: TranscodeRequest.Options = .firstFrameOnly, limits: TranscodeLimits = TranscodeLimits()
    ) async throws -> (bytes: [UInt8], report: TranscodeReport) {
        let source = try ScratchFile(file), output = try ScratchFile()
        var request = TranscodeRequest(
            source: source.descriptor, variants: [variant], outputs: [output.descriptor], options: options)
        (request.isPartial, request.wantsRawRGBA) = (isPartial, raw)
        let report = try await DirectTranscoder(limits: limits).transcode(
            failure: { $0 }, open: { () throws(TranscodeError) in request })
        _ = try report.variants[0].get()
        return (ScratchFile.content(output.descriptor), report)
    }

    private static let plain = Result { () throws(VariantError) in try Variant(json: #"{"name":"plain"}"#.utf8) }

    /// The mean square of the differences of red, green and blue.
    private static func difference(_ one: [UInt8], _ other: [UInt8]) throws -> Double {
        try #require(one.count == other.count)
        var sum = 0.0
        for index in one.indices where index % 4 != 3 {
            let difference = Double(one[index]) - Double(other[index])
            sum += difference * difference
        }
        return sum / Double(one.count)
    }

    @Test(arguments: Kind.allCases)
    func `each longer part of a still gives a picture at least as near to the whole`(_ kind: Kind) async throws {
        let file = try await file(kind), plain = try Self.plain.get()
        let whole = try await Self.made(file, plain, raw: true).bytes
        var differences: [Double] = []
        for part in 1..<20 {
            let bytes = Array(file.prefix(file.count * part / 20))
            guard let made = try? await Self.made(bytes, plain, isPartial: true, raw: true) else { continue }
            #expect(made.report.source.width == 120 && made.report.source.height == 90)
            differences.append(try Self.difference(made.bytes, whole))
        }
        #expect(differences.count >= 10, "\(kind): \(differences)")
        for (one, next) in zip(differences, differences.dropFirst()) { #expect(next <= one * 1.05, "\(differences)") }
        let (first, last) = (try #require(differences.first), try #require(differences.last))
        #expect(last < first / 4, "\(differences)")
        #expect(Set(differences).count >= 5, "\(differences)")
    }

    @Test(arguments: ["animated.gif", "animated.png", "animated.webp"])
    func `a part of an animation shows its first frame, or every frame for an object that keeps them`(
        _ name: String
    ) async throws {
        let file = try Fixtures.image(name), plain = try Self.plain.get()
        let whole = try await Self.made(file, plain).report.source.frames
        var counts: [Int] = []
        for part in 1..<20 {
            let bytes = Array(file.prefix(file.count * part / 20))
            guard let kept = try? await Self.made(bytes, plain, isPartial: true, options: .keepsAnimation) else {
                continue
            }
            counts.append(kept.report.source.frames)
            #expect(try kept.report.variants[0].get().copied == false)
            let still = try await Self.made(bytes, plain, isPartial: true).report.variants[0].get()
            #expect(still.frames == 1)
        }
        #expect(counts == counts.sorted() && Set(counts).count >= 2, "\(counts)")
        #expect(try #require(counts.last) <= whole, "\(counts)")
    }

    @Test(arguments: ["still.avif", "still.heic", "still.tiff", "still.svg"])
    func `other formats have no picture of a part`(_ name: String) async throws {
        let file = try Fixtures.image(name), plain = try Self.plain.get()
        var limits = TranscodeLimits()
        limits.formats.formUnion(ImageFormat.acceptedOnRequest)
        do throws(TranscodeError) {
            _ = try await Self.failing(file, plain, limits)
            Issue.record("\(name) has a picture")
        } catch { #expect(error.code == .undecodable) }
    }

    @Test(arguments: ["bomb-pixels.png", "bomb-edge.png"])
    func `a part has the limits of every image`(_ name: String) async throws {
        let plain = try Self.plain.get(), file = try Fixtures.image(name) + [0, 0, 0, 9] + Array("IDAT".utf8) + [0]
        do throws(TranscodeError) {
            _ = try await Self.failing(file, plain, TranscodeLimits())
            Issue.record("\(name) has a picture")
        } catch { #expect([.pixels, .edge].contains(error.code), "\(error)") }
    }

    @Test func `no part of any file ends the process`() async throws {
        var random = SeededRandom(7)
        let plain = try Self.plain.get()
        for kind in Kind.allCases {
            let file = try await file(kind)
            for _ in 0..<12 {
                var part = Array(file.prefix(Int.random(in: 1...file.count, using: &random)))
                for _ in 0..<Int.random(in: 0...3, using: &random) {
                    part[Int.random(in: 0..<part.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
                }
                _ = try? await Self.made(part, plain, isPartial: true)
            }
        }
    }

    private static func failing(
        _ file: [UInt8], _ variant: Variant, _ limits: TranscodeLimits
    ) async throws(TranscodeError) -> TranscodeReport {
        let made: Result<TranscodeReport, any Error>
        do { made = .success(try await Self.made(file, variant, isPartial: true, limits: limits).report) } catch {
            made = .failure(error)
        }
        do { return try made.get() } catch { throw error as? TranscodeError ?? TranscodeError(.died, "\(error)") }
    }
}
