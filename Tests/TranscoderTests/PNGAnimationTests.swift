import ImageModel
import TestTranscoder
import Testing

@testable import Codecs
@testable import Transcoder

/// Frames of animated PNGs, read and written.
@Suite(.timeLimit(.minutes(5)))
struct PNGAnimationTests {
    private typealias Frame = SyntheticAnimation.Frame

    private let harness = PictureHarness()
    private let thumbnail = #""thumbnail":{"width":4,"height":4}"#
    private let red: [UInt8] = [255, 0, 0, 255], green: [UInt8] = [0, 255, 0, 255], blue: [UInt8] = [0, 0, 255, 255]
    private let whole = [0, 0, 8, 4]

    private func header(_ bytes: [UInt8]) async throws -> SourceHeader {
        let file = try ScratchFile(bytes)
        return try await harness.transcoder.probe(file.descriptor)
    }

    /// The colour at one place in every frame of a GIF, as libvips reads it; nil where it is transparent.
    private func colors(_ gif: [UInt8], _ x: Int, _ y: Int) throws -> [[Int]?] {
        let frames = try #require(PixelSample(gif, frames: -1))
        return stride(from: y, to: frames.height, by: 4).map { row in
            let pixel = frames.pixel(x, row)
            return pixel[3] == 0 ? nil : Array(pixel.prefix(3))
        }
    }

    @Test func `the frames of a thumbnail are drawn as they are shown`() async throws {
        let animation = SyntheticAnimation(frames: [
            Frame(rect: whole, color: red), Frame(rect: [4, 0, 4, 4], color: green, disposal: .clear),
            Frame(rect: [0, 0, 2, 2], color: blue, disposal: .restore),
            Frame(rect: [2, 2, 2, 2], color: [0, 0, 0, 0], blending: .over),
            Frame(rect: [2, 2, 2, 2], color: [0, 0, 0, 0]),
        ])
        let format = #""animation":"frames","format":"gif""#
        let gif = try await harness.make(animation.file, format)
        #expect(try gif.made().frames == 5)
        let (red, green, blue) = ([255, 0, 0], [0, 255, 0], [0, 0, 255])
        #expect(try colors(gif.files[0], 0, 0) == [red, red, blue, red, red])
        #expect(try colors(gif.files[0], 6, 1) == [red, green, nil, nil, nil])
        #expect(try colors(gif.files[0], 3, 3) == [red, red, red, red, nil])
        // Written as a PNG and read again.
        let png = try await harness.make(animation.file, #""animation":"frames","format":"png""#)
        let again = try await harness.make(png.files[0], format)
        #expect(again.files[0] == gif.files[0])
    }

    @Test func `a thumbnail keeps format, times and loop count, and a frame has the part that differs`() async throws {
        let animation = SyntheticAnimation(frames: [
            Frame(rect: whole, color: red), Frame(rect: [4, 0, 4, 2], color: green, delay: [0, 0]),
            Frame(rect: [0, 0, 1, 1], color: red, delay: [70, 1]), Frame(rect: whole, color: blue, delay: [3, 0]),
        ])
        let output = try await harness.make(animation.file, thumbnail)
        let after = try await header(output.files[0])
        #expect(try output.made().format == .png)
        #expect(try !output.made().copied)
        #expect(try output.made().frames == 4)
        #expect(after.width == 4)
        #expect(after.height == 2)
        #expect(after.frames == 4)
        #expect(after.loopCount == 3)
        #expect(after.frameMilliseconds == [500, 100, 70000, 30])
        let frames = try output.files[0].withUnsafeBytes { try PNGAnimation($0)?.frames } ?? []
        let (right, pixel) = (PixelRect(x: 2, y: 0, width: 2, height: 1), PixelRect(x: 0, y: 0, width: 1, height: 1))
        let all = PixelRect(x: 0, y: 0, width: 4, height: 2)
        #expect(frames.map(\.rect.size)[0] == all.size)
        #expect(frames.map(\.rect)[2...] == [pixel, all])
        #expect(frames[1].rect.x <= right.x)
        #expect(frames[1].rect.width >= right.width)
        #expect(try output.sample().pixel(0, 0) == [255, 0, 0, 255])
    }

    @Test func `half transparent pixels are composited on those below`() throws {
        var canvas = AnimationCanvas(PixelSize(width: 2, height: 1))
        func draw(_ pixels: [UInt8], _ blending: PNGAnimation.Blending) throws {
            let frame = Frame(rect: [0, 0, 2, 1], color: red, blending: blending)
            let file = SyntheticAnimation(width: 2, height: 1, frames: [frame, frame]).file
            let read = try #require(try file.withUnsafeBytes { try PNGAnimation($0) })
            pixels.withUnsafeBytes { canvas.draw(read.frames[1], $0) }
        }
        try draw([0, 0, 255, 255, 0, 0, 0, 0], .replace)
        try draw([255, 0, 0, 128, 255, 0, 0, 128], .over)
        #expect(canvas.pixels == [128, 0, 127, 255, 255, 0, 0, 128])
        try draw([10, 20, 30, 0, 10, 20, 30, 40], .replace)
        #expect(canvas.pixels == [10, 20, 30, 0, 10, 20, 30, 40])
    }

    @Test func `an image before the first frame is not shown`() async throws {
        let animation = SyntheticAnimation(
            frames: [Frame(rect: whole, color: red), Frame(rect: whole, color: blue)], hidden: green)
        let gif = try await harness.make(
            animation.file, #""animation":"frames","format":"gif""#, #"\#(thumbnail),"format":"png""#)
        #expect(try colors(gif.files[0], 0, 0) == [[255, 0, 0], [0, 0, 255]])
        #expect(try gif.made(1).frames == 1)
        #expect(try gif.sample(1).pixel(1, 1) == [255, 0, 0, 255])
    }

    @Test func `a first frame that is smaller than the canvas is on transparency`() async throws {
        let animation = SyntheticAnimation(
            frames: [Frame(rect: [4, 0, 4, 4], color: red), Frame(rect: whole, color: blue)], hidden: green)
        #expect(try await header(animation.file).hasAlpha)
        let gif = try await harness.make(animation.file, #""animation":"frames","format":"gif""#)
        #expect(try colors(gif.files[0], 0, 0) == [nil, [0, 0, 255]])
    }

    @Test func `a file with fewer frames than declared has those, one of a single frame is a still`() async throws {
        var animation = SyntheticAnimation(
            frames: [Frame(rect: whole, color: red), Frame(rect: whole, color: blue)], declared: 9)
        #expect(try await header(animation.file).frames == 2)
        animation.declared = 1
        #expect(try await header(animation.file).frames == 1)
        animation.declared = 7
        animation.frames.removeLast()
        #expect(try await header(animation.file).frames == 1)
    }

    @Test func `a cut file is refused, and one with a bad frame has the frames before it`() async throws {
        let colors = [red, green, blue], good = SyntheticAnimation(frames: colors.map { Frame(rect: whole, color: $0) })
        #expect(try await header(good.file).frames == 3)
        for length in [13, 30, 100] {
            #expect(try await harness.refusal(good.file.dropLast(length), thumbnail)?.code == .undecodable)
        }
        var bad = good
        bad.wrongNumber = 5
        #expect(try await header(bad.file).frames == 2)
        bad = good
        bad.frames[2].rect = [1, 0, 8, 4]
        #expect(try await header(bad.file).frames == 2)
        bad.frames[1].rect = [1, 0, 8, 4]
        #expect(try await header(bad.file).frames == 1)
        #expect(try await harness.make(bad.file, #""format":"png""#).sample().pixel(2, 2) == [255, 0, 0, 255])
        // A bit of the last frame's pixels.
        var changed = good.file
        changed[changed.count - 40] ^= 4
        let output = try await harness.make(changed, #""animation":"frames","format":"gif""#)
        #expect(try self.colors(output.files[0], 2, 2) == [[255, 0, 0], [0, 255, 0]])
    }

    @Test func `a frame whose pixels do not decompress ends the animation`() async throws {
        var animation = SyntheticAnimation(frames: [red, green, blue].map { Frame(rect: whole, color: $0) })
        animation.brokenPixels = 2
        #expect(try await header(animation.file).frames == 3)
        let output = try await harness.make(animation.file, #""animation":"frames","format":"gif""#)
        #expect(try colors(output.files[0], 2, 2) == [[255, 0, 0], [0, 255, 0]])
    }

    /// Frames of one pixel that show for more than 18 hours each: their times alone are longer than a child's message.
    private func pixels(_ count: Int) -> [UInt8] {
        let pixel = SyntheticImage.zlib([0, 255, 0, 0, 255]), one = SyntheticImage.big(1), zero = SyntheticImage.big(0)
        let rest = one + one + zero + zero + [255, 255, 0, 1, 0, 0]
        var file = Array(SyntheticImage.plain(1, 1, red).prefix(8))
        file += SyntheticImage.chunk("IHDR", one + one + [8, 6, 0, 0, 0])
        file += SyntheticImage.chunk("acTL", SyntheticImage.big(count) + zero)
        file += SyntheticImage.chunk("fcTL", zero + rest) + SyntheticImage.chunk("IDAT", pixel)
        for frame in 1..<count {
            file += SyntheticImage.chunk("fcTL", SyntheticImage.big(2 * frame - 1) + rest)
            file += SyntheticImage.chunk("fdAT", SyntheticImage.big(2 * frame) + pixel)
        }
        return file + SyntheticImage.chunk("IEND", [])
    }

    @Test func `more than 10,000 frames are refused where a variant has all, and the first is drawn`() async throws {
        let count = ChildRequest.maxLength / "65535000,".utf8.count + 1
        let output = try await harness.make(pixels(count), thumbnail, #""format":"png","animation":"still""#)
        #expect(output.report.source.frames == count)
        #expect(output.report.source.frameMilliseconds.isEmpty)
        #expect(throws: TranscodeError.self) { try output.made() }
        if case .failure(let error) = output.report.variants[0] { #expect(error.code == .frames) }
        #expect(try output.made(1).frames == 1)
        #expect(try output.sample(1).pixel(0, 0) == [255, 0, 0, 255])
    }

    // SDWebImage's TestImageAnimated.apng has 101.
    @Test func `more than 100 frames are drawn`() async throws {
        let frames = (0..<101).map { Frame(rect: whole, color: $0 % 2 == 0 ? red : blue) }
        let output = try await harness.make(SyntheticAnimation(frames: frames).file, thumbnail)
        #expect(try output.made().frames == 101)
    }
}
