import Testing
import Transcoder

/// Small files that want to become large ones.
@Suite(.timeLimit(.minutes(5)))
struct BombTests {
    private let kitchen = Kitchen { $0.limits.memoryBytes = 512 << 20 }
    private let variant = #""thumbnail":{"width":16,"height":16}"#

    private func code(_ picture: [UInt8]) async throws -> TranscodeError.Code? {
        try await kitchen.refusal(picture, variant)?.code
    }

    @Test func `a PNG of too many pixels, or too long an edge`() async throws {
        #expect(try await code(try Fixtures.picture("bomb-edge.png")) == .edge)
        #expect(try await code(try Fixtures.picture("bomb-pixels.png")) == .pixels)
    }

    @Test func `a GIF of a huge screen, and one of endless frames`() async throws {
        let gif = try Fixtures.picture("animated.gif")
        var wide = gif
        for (offset, byte) in [0xFF, 0x3F, 0xFF, 0x3F].enumerated() { wide[6 + offset] = UInt8(byte) }
        // libvips takes an absurd screen for a mistake and goes by the first frame.
        let huge = try await code(wide)
        #expect(huge == nil || huge == .pixels || huge == .undecodable, "\(String(describing: huge))")
        // Its last frame again and again, before the trailer.
        let start = try #require(gif.indices.last { gif[$0...].starts(with: [0x21, 0xF9, 0x04]) })
        let frame = gif[start..<gif.count - 1]
        let many = Array(gif[..<start]) + (0..<5000).flatMap { _ in frame } + [0x3B]
        #expect(try await code(many) == .frames)
    }

    @Test func `a WebP whose canvas is as large as the format allows`() async throws {
        var file = try Fixtures.picture("animated.webp")
        #expect(Array(file[12..<16]) == Array("VP8X".utf8))
        for offset in 24..<30 { file[offset] = offset % 3 == 2 ? 0 : 0xFF }
        let refused = try await code(file)
        #expect(refused == .pixels || refused == .edge || refused == .frames || refused == .undecodable)
    }

    @Test func `an AVIF that claims to be huge`() async throws {
        var file = try Fixtures.picture("still.avif")
        // The extents of the picture's property, `ispe`.
        let start = try #require(file.indices.first { file[$0...].starts(with: Array("ispe".utf8)) })
        for offset in [10, 11, 14, 15] { file[start + offset - 2] = 0x7F }
        let refused = try await code(file)
        #expect(refused == .pixels || refused == .edge || refused == .undecodable, "\(String(describing: refused))")
    }

    @Test func `a progressive JPEG of endless scans ends in time`() async throws {
        let file = try Fixtures.picture("progressive.jpg")
        let scan = try #require(file.indices.last { file[$0...].starts(with: [0xFF, 0xDA]) })
        let last = file[scan..<file.count - 2]
        let many = Array(file[..<scan]) + (0..<20000).flatMap { _ in last } + [0xFF, 0xD9]
        let error = try await kitchen.refusal(many, variant)
        #expect(error == nil || error?.code == .undecodable || error?.code == .time, "\(String(describing: error))")
        #expect(try await code(try Fixtures.picture("plain.jpg")) == nil)
    }

    @Test func `an SVG of entities is no picture here`() async throws {
        let text =
            #"<?xml version="1.0"?><!DOCTYPE s [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;">]><svg>&b;</svg>"#
        #expect(try await code(Array(text.utf8)) == .undecodable)
    }
}
