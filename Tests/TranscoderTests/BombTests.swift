import Testing

@testable import Transcoder

/// Small files that declare large images.
@Suite(.timeLimit(.minutes(5)))
struct BombTests {
    private let harness = TranscodeHarness { $0.limits.memoryBytes = 512 << 20 }
    private let variant = #""thumbnail":{"width":16,"height":16}"#

    private func code(_ image: [UInt8]) async throws -> TranscodeError.Code? {
        try await harness.refusal(image, variant)?.code
    }

    @Test func `a PNG with too many pixels or too long an edge is refused`() async throws {
        #expect(try await code(try Fixtures.image("bomb-edge.png")) == .edge)
        #expect(try await code(try Fixtures.image("bomb-pixels.png")) == .pixels)
    }

    /// A GIF whose frames declare a size and hold one pixel each.
    private func gif(_ width: Int, _ height: Int, frames: Int = 1) -> [UInt8] {
        let size = [width & 255, width >> 8, height & 255, height >> 8].map { UInt8($0) }
        let palette: [UInt8] = [0x80, 0, 0, 0, 0, 0, 255, 255, 255]
        let control: [UInt8] = [0x21, 0xF9, 4, 0, 10, 0, 0, 0], pixel: [UInt8] = [0, 2, 2, 0x44, 1, 0]
        let frame = control + [0x2C, 0, 0, 0, 0] + size + pixel
        return Array("GIF89a".utf8) + size + palette + (0..<frames).flatMap { _ in frame } + [0x3B]
    }

    @Test func `a GIF with too many pixels, too long an edge, or too many pixels in all frames is refused`()
        async throws
    {
        #expect(try await code(gif(9000, 9000)) == .pixels)
        #expect(try await code(gif(65535, 10)) == .edge)
        #expect(try await code(gif(7000, 6000, frames: 3)) == .frames)
        // It declares 42 megapixels and holds one, within every limit: it is decoded at its declared size.
        #expect(try await code(gif(7000, 6000)) == nil)
    }

    @Test func `a GIF with a huge screen or too many frames is refused`() async throws {
        let gif = try Fixtures.image("animated.gif")
        func screen(_ bytes: [UInt8]) -> [UInt8] { Array(gif[..<6]) + bytes + gif[10...] }
        #expect(try await code(screen([0xFF, 0x3F, 0xFF, 0x3F])) == .pixels)
        #expect(try await code(screen([0xFF, 0xFF, 0xFF, 0xFF])) == .edge)
        // A screen within the limits around small frames: libvips takes the frames' size.
        let file = try ScratchFile(screen([0x58, 0x1B, 0x70, 0x17]))
        let header = try await harness.pool.probe(file.descriptor)
        #expect(header.width == 80)
        #expect(header.height == 60)
        #expect(header.frames == 3)
        // The last frame is repeated before the trailer.
        let start = try #require(gif.indices.last { gif[$0...].starts(with: [0x21, 0xF9, 0x04]) })
        let frame = gif[start..<gif.count - 1]
        let many = Array(gif[..<start]) + (0..<5000).flatMap { _ in frame } + [0x3B]
        #expect(try await code(many) == .frames)
    }

    @Test func `a WebP with too large a canvas is refused, animated or not`() async throws {
        var canvas = try Fixtures.image("animated.webp")
        #expect(Array(canvas[12..<16]) == Array("VP8X".utf8))
        // 65536 × 65536, three bytes each, less one.
        canvas.replaceSubrange(24..<30, with: [0xFF, 0xFF, 0, 0xFF, 0xFF, 0])
        #expect(try await code(canvas) == .edge)
        canvas.replaceSubrange(24..<30, with: [0x57, 0x1B, 0, 0xFF, 0x3F, 0])
        #expect(try await code(canvas) == .edge, "7000 × 16384")
        canvas.replaceSubrange(24..<30, with: [0x57, 0x1B, 0, 0xFE, 0x3F, 0])
        #expect(try await code(canvas) == .pixels, "7000 × 16383")
        canvas.replaceSubrange(24..<30, with: [0x57, 0x1B, 0, 0x57, 0x1B, 0])
        let output = try await harness.make(canvas, variant, #"\#(variant),"animation":"still""#)
        let error = #expect(throws: TranscodeError.self) { try output.made(0) }
        #expect(error?.code == .memory, "49 megapixels in each of two frames, drawn in 512 MiB")
        #expect(try output.made(1).width == 16)
        // libvips would allocate a gigabyte for it before it gives the size.
        var still = try Fixtures.image("still.webp")
        #expect(Array(still[12..<16]) == Array("VP8 ".utf8))
        still.replaceSubrange(26..<30, with: [0xFF, 0x3F, 0xFF, 0x3F])
        #expect(try await code(still) == .pixels)
    }

    @Test func `an AVIF that declares a huge size is refused`() async throws {
        let file = try Fixtures.image("still.avif")
        // The size in the image's property `ispe`.
        let start = try #require(file.indices.first { file[$0...].starts(with: Array("ispe".utf8)) })
        func claim(_ extents: [UInt8]) -> [UInt8] { Array(file[..<(start + 8)]) + extents + file[(start + 16)...] }
        // libheif refuses edges over 16384 itself, and finds a false size when it decodes.
        #expect(try await code(claim([0, 0, 0x7F, 0x7F, 0, 0, 0x7F, 0x7F])) == .undecodable)
        #expect(try await code(claim([0, 0, 0x20, 0, 0, 0, 0x20, 0])) == .pixels)
        #expect(try await code(claim([0, 0, 0x1B, 0x58, 0, 0, 0x17, 0x70])) == .undecodable)
    }

    /// Valid slow files are in `FaultyCodecTests`.
    @Test func `a progressive JPEG that repeats its scans is refused`() async throws {
        let file = try Fixtures.image("progressive.jpg")
        let scan = try #require(file.indices.last { file[$0...].starts(with: [0xFF, 0xDA]) })
        let last = file[scan..<file.count - 2]
        let many = Array(file[..<scan]) + (0..<20000).flatMap { _ in last } + [0xFF, 0xD9]
        #expect(try await code(many) == .undecodable)
        #expect(try await code(try Fixtures.image("plain.jpg")) == nil)
    }

    @Test func `a JPEG with more than 5,000 segments is refused, also between scans`() async throws {
        let plain = try Fixtures.image("plain.jpg"), progressive = try Fixtures.image("progressive.jpg")
        func segments(_ count: Int) -> [UInt8] { (0..<count).flatMap { _ in [0xFF, 0xE1, 0, 2] as [UInt8] } }
        func withSegments(_ count: Int) -> [UInt8] { Array(plain[..<2]) + segments(count) + plain[2...] }
        #expect(try await code(withSegments(4900)) == nil)
        let error = try #require(try await harness.refusal(withSegments(5000), variant))
        #expect(error.code == .undecodable, "\(error)")
        #expect(error.message.contains("5000 segments"), "\(error)")
        let scan = try #require(progressive.indices.last { progressive[$0...].starts(with: [0xFF, 0xDA]) })
        let between = Array(progressive[..<scan]) + segments(5000) + progressive[scan...]
        #expect(try await harness.refusal(between, variant)?.message.contains("5000 segments") == true)
    }

    @Test func `a PNG with more than 30 compressed texts is refused`() async throws {
        func file(_ count: Int) -> [UInt8] {
            let text = SyntheticImage.chunk("zTXt", Array("k".utf8) + [0, 0] + SyntheticImage.zlib([65]))
            let rows = [UInt8](repeating: 0, count: 4 * 13)
            return SyntheticImage.png(
                SyntheticImage.big(4) + SyntheticImage.big(4) + [8, 2, 0, 0, 0], rows,
                beforePixels: (0..<count).flatMap { _ in text })
        }
        #expect(try await code(file(30)) == nil)
        #expect(try await harness.refusal(file(31), variant)?.message.contains("30 compressed texts") == true)
    }

    @Test(arguments: ["still.avif", "still.heic"])
    func `a HEIF container with more than 5,000 boxes is refused`(name: String) async throws {
        let image = try Fixtures.image(name)
        let free = SyntheticImage.big(8) + Array("free".utf8)
        // Behind the image, where they move nothing.
        #expect(try await code(image + (0..<4900).flatMap { _ in free }) == nil)
        let error = try await harness.refusal(image + (0..<5000).flatMap { _ in free }, variant)
        #expect(error?.message.contains("5000 boxes") == true, "\(String(describing: error))")
    }

    @Test func `an SVG with nested entities is refused`() async throws {
        let text =
            #"<?xml version="1.0"?><!DOCTYPE s [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;">]><svg>&b;</svg>"#
        #expect(try await code(Array(text.utf8)) == .undecodable)
    }
}
