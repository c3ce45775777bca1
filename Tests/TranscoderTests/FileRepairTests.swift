import Foundation
import ImageModel
import TestSupport
import Testing

@testable import Codecs
@testable import Transcoder

/// Files that browsers draw and codecs refuse as they are.
@Suite(.timeLimit(.minutes(5)))
struct FileRepairTests {
    private let harness = PictureHarness()
    private let libvips = PictureHarness { $0.allowsPlanes = false }

    private func drawn(_ image: [UInt8]) async throws -> PixelSample {
        try await harness.make(image, #""keySuffix":"x","animation":"still","format":"png""#).sample()
    }

    private func replacing(_ old: String, _ new: String, in file: [UInt8]) throws -> [UInt8] {
        let place = try #require(file.indices.dropFirst(16).first { file[$0...].starts(with: old.utf8) })
        return file[..<place] + Array(new.utf8) + file[(place + 4)...]
    }

    // MARK: - HEIF

    @Test func `a sequence without the brand of a still is drawn, and copied as it is`() async throws {
        let file = try Fixtures.image("animated.avif")
        let sequence = try replacing("mif1", "iso8", in: try replacing("avif", "iso8", in: file))
        #expect(try await drawn(sequence).maxDifference(from: drawn(file)) == 0)
        let copy = try await harness.make(
            sequence, #""transform":[{"type":"resize","width":8,"height":8}]"#)
        #expect(try copy.made().copied == true)
        #expect(copy.files[0] == sequence)
    }

    @Test func `an AVIF whose properties begin with a rotation is drawn`() async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let path = directory + "/turned.avif"
        try await SystemTool.run(["avifenc", "--irot", "1", Fixtures.path("Images/rgb.png"), path])
        let file = try Fixtures.bytes(path)
        // The associations of the only item, a byte each: its last one, the rotation, comes first.
        let start = try #require(file.indices.first { file[$0...].starts(with: "ipma".utf8) }) + 4
        let count = Int(file[start + 10]), list = Array(file[(start + 11)..<(start + 11 + count)])
        var turned = file
        turned.replaceSubrange((start + 11)..<(start + 11 + count), with: list.suffix(1) + list.dropLast())
        let edits = turned.withUnsafeBytes { HEIFRepair.edits($0) }
        #expect(edits == [FileEdit(offset: start + 11, bytes: list)])
        #expect(file.withUnsafeBytes { HEIFRepair.edits($0) } == [])
        let sample = try await drawn(turned)
        #expect(sample.width == 60)
        #expect(sample.height == 80)
        #expect(try await sample.maxDifference(from: drawn(file)) == 0)
    }

    @Test func `a box with a length of 0 reaches to the end of the file`() async throws {
        let file = try Fixtures.image("still.avif")
        let meta = Array(file[28..<262]), pixels = Array(file[262...])
        #expect(Array(meta[4..<8]) == Array("meta".utf8))
        #expect(Array(pixels[4..<8]) == Array("mdat".utf8))
        // The pixels come first, so their place changes, which is the only 270 in the file's tables.
        let place = try #require(meta.indices.first { meta[$0...].starts(with: [0, 0, 1, 14]) })
        var last = [0, 0, 0, 0] + meta[4...]
        last.replaceSubrange(place..<place + 4, with: [0, 0, 0, 36])
        let changed = file[..<28] + pixels + last
        #expect(try await drawn(Array(changed)).maxDifference(from: drawn(file)) == 0)
    }

    @Test func `a HEIF container may end anywhere, and its numbers may be any`() throws {
        var random = SeededRandom(46)
        let file = try Fixtures.image("animated-alpha.avif")
        for _ in 0..<2000 {
            var changed = Array(file.prefix(Int.random(in: 0...600, using: &random)))
            for _ in 0..<8 {
                guard let place = changed.indices.randomElement(using: &random) else { continue }
                changed[place] = UInt8.random(in: 0...255, using: &random)
            }
            let edits = changed.withUnsafeBytes { HEIFRepair.edits($0) }
            #expect(edits.allSatisfy { $0.offset + $0.bytes.count <= changed.count })
        }
    }

    // MARK: - PNG

    @Test func `a chunk that need not be understood may have a wrong checksum`() async throws {
        var chunk = SyntheticImage.chunk("tEXt", Array("Title\0x".utf8))
        chunk[chunk.count - 1] ^= 1
        let rows = [UInt8](repeating: 0, count: 4 * 13)
        let header = SyntheticImage.big(4) + SyntheticImage.big(4) + [8, 2, 0, 0, 0]
        let file = SyntheticImage.png(header, rows, beforePixels: chunk)
        for harness in [harness, libvips] { #expect(try await harness.refusal(file) == nil) }
        // A palette must be understood.
        var palette = SyntheticImage.chunk("PLTE", [1, 2, 3])
        palette[palette.count - 1] ^= 1
        let bad = SyntheticImage.png(header, rows, beforePixels: palette)
        for harness in [harness, libvips] { #expect(try await harness.refusal(bad)?.code == .undecodable) }
    }

    @Test func `a transparency before the palette counts`() async throws {
        let palette = SyntheticImage.chunk("PLTE", [255, 0, 0, 0, 0, 255]), clear = SyntheticImage.chunk("tRNS", [0])
        let header = SyntheticImage.big(2) + SyntheticImage.big(1) + [8, 3, 0, 0, 0]
        let file = SyntheticImage.png(header, [0, 0, 1], beforePixels: clear + palette)
        for harness in [harness, libvips] {
            let sample = try await harness.make(file, #""keySuffix":"x","format":"png""#).sample()
            #expect(sample.pixel(0, 0)[3] == 0)
            #expect(sample.pixel(1, 0) == [0, 0, 255, 255])
        }
    }

    // MARK: - GIF

    /// A frame of one colour: its rectangle and what follows it.
    private func frame(_ x: Int, _ y: Int, _ width: Int, _ height: Int, color: UInt8, disposal: UInt8 = 0) -> [UInt8] {
        func half(_ value: Int) -> [UInt8] { [UInt8(value & 255), UInt8(value >> 8)] }
        // Codes of three bits: the table is cleared before each pixel, so that it never grows.
        var bits: [UInt8] = (0..<width * height).flatMap { _ in [4, color] as [UInt8] } + [5]
        var data: [UInt8] = [], held = 0, count = 0
        while !bits.isEmpty || count > 0 {
            if !bits.isEmpty { (held, count) = (held | Int(bits.removeFirst()) << count, count + 3) }
            while count >= 8 || bits.isEmpty && count > 0 {
                data.append(UInt8(held & 255))
                (held, count) = (held >> 8, max(0, count - 8))
            }
        }
        return [0x21, 0xF9, 4, disposal << 2, 10, 0, 0, 0, 0x2C] + half(x) + half(y) + half(width) + half(height)
            + [0, 2, UInt8(data.count)] + data + [0]
    }

    /// Four by four pixels; the colours are black, red, green and blue, none of them transparent.
    private func gif(_ frames: [UInt8]...) -> [UInt8] {
        Array("GIF89a".utf8) + [4, 0, 4, 0, 0x81, 0, 0, 0, 0, 0, 255, 0, 0, 0, 255, 0, 0, 0, 255] + frames.joined()
            + [0x3B]
    }

    @Test func `what the first frame of a GIF does not cover is transparent`() async throws {
        let sample = try await drawn(gif(frame(1, 1, 2, 2, color: 1)))
        #expect(sample.pixel(0, 0)[3] == 0)
        #expect(sample.pixel(3, 3)[3] == 0)
        #expect(sample.pixel(1, 1) == [255, 0, 0, 255])
        #expect(sample.pixel(2, 2) == [255, 0, 0, 255])
        #expect(try await !drawn(gif(frame(0, 0, 4, 4, color: 1))).hasAlpha)
    }

    @Test func `what a frame of a GIF clears is transparent until another one covers it`() async throws {
        let file = gif(
            frame(0, 0, 4, 4, color: 1, disposal: 2), frame(0, 0, 2, 4, color: 2, disposal: 3),
            frame(3, 0, 1, 4, color: 3))
        let output = try await harness.make(file, #""animation":"frames","format":"gif""#)
        let frames = try #require(PixelSample(output.files[0], frames: -1))
        #expect((0..<3).map { frames.pixel(0, 4 * $0)[3] } == [255, 255, 0])
        #expect((0..<3).map { frames.pixel(3, 4 * $0)[3] } == [255, 0, 255])
        let covered = gif(frame(0, 0, 4, 4, color: 1, disposal: 2), frame(0, 0, 4, 4, color: 2))
        for (file, hasHoles) in [(file, true), (covered, false)] {
            let size = PixelSize(width: 4, height: 4)
            #expect(file.withUnsafeBytes { GIFCoverage($0, canvas: size).hasHoles } == hasHoles)
        }
    }

    @Test func `a GIF may end anywhere, and its numbers may be any`() throws {
        var random = SeededRandom(47)
        let file = gif(frame(1, 1, 2, 2, color: 1), frame(0, 0, 4, 4, color: 2, disposal: 2))
        for _ in 0..<2000 {
            var changed = Array(file.prefix(Int.random(in: 0...file.count, using: &random)))
            for _ in 0..<4 {
                guard let place = changed.indices.randomElement(using: &random) else { continue }
                changed[place] = UInt8.random(in: 0...255, using: &random)
            }
            var coverage = changed.withUnsafeBytes { GIFCoverage($0, canvas: PixelSize(width: 4, height: 4)) }
            for _ in 0..<3 { #expect(coverage.nextAlpha().count == 16) }
        }
    }
}
