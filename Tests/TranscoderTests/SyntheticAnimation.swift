@testable import Codecs
@testable import Transcoder

/// Animated PNG files with frames of one colour each.
struct SyntheticAnimation {
    struct Frame {
        /// Left, top, width, height.
        var rect: [Int]
        /// Red, green, blue, alpha.
        var color: [UInt8]
        var disposal = PNGAnimation.Disposal.keep
        var blending = PNGAnimation.Blending.replace
        /// Dividend and divisor of the seconds.
        var delay = [5, 10]
        /// The band that grows by 4 from pixel to pixel in place of one colour: 0 red, 1 green, 2 blue.
        var shades: Int?
        /// The colour at each place of the frame, in place of one.
        var pixel: ((Int, Int) -> [UInt8])?

        /// The rows with the numbers of their filters.
        fileprivate var rows: [UInt8] {
            guard let pixel else { return Array(repeatElement([0] + row, count: rect[3]).joined()) }
            var rows: [UInt8] = []
            for y in 0..<rect[3] {
                rows.append(0)
                for x in 0..<rect[2] { rows += pixel(x, y) }
            }
            return rows
        }

        private var row: [UInt8] {
            guard let shades else { return Array(repeatElement(color, count: rect[2]).joined()) }
            return (0..<rect[2]).flatMap { x in (0..<4).map { $0 == shades ? UInt8(x * 4) : $0 == 3 ? 255 : 0 } }
        }
    }

    var width = 8, height = 4
    var loopCount = 3
    var frames: [Frame]
    /// The colour of an image that is not among the frames.
    var hidden: [UInt8]?
    /// By default the number of frames.
    var declared: Int?
    /// The place whose chunk has a wrong sequence number; every other chunk has its place's number.
    var wrongNumber: Int?

    /// The frame whose pixels do not decompress.
    var brokenPixels: Int?

    /// The file in 8-bit RGBA.
    var file: [UInt8] {
        var number = 0
        func next() -> [UInt8] {
            defer { number += 1 }
            return SyntheticImage.big(number == wrongNumber ? number + 7 : number)
        }
        func control(_ frame: Frame) -> [UInt8] {
            let rect = [2, 3, 0, 1].flatMap { SyntheticImage.big(frame.rect[$0]) }
            let time = frame.delay.flatMap { SyntheticImage.big($0).suffix(2) }
            let operators = [UInt8(frame.disposal.rawValue), UInt8(frame.blending.rawValue)]
            return SyntheticImage.chunk("fcTL", next() + rect + time + operators)
        }
        func pixels(_ frame: Frame) -> [UInt8] {
            SyntheticImage.zlib(frame.rows)
        }
        let header = SyntheticImage.big(width) + SyntheticImage.big(height) + [8, 6, 0, 0, 0]
        var file = Array(SyntheticImage.plain(1, 1, [0, 0, 0, 0]).prefix(8)) + SyntheticImage.chunk("IHDR", header)
        file += SyntheticImage.chunk(
            "acTL", SyntheticImage.big(declared ?? frames.count) + SyntheticImage.big(loopCount))
        var rest = frames[...]
        if let hidden {
            file += SyntheticImage.chunk("IDAT", pixels(Frame(rect: [0, 0, width, height], color: hidden)))
        } else if let first = rest.popFirst() {
            file += control(first) + SyntheticImage.chunk("IDAT", pixels(first))
        }
        for (index, frame) in zip(rest.indices, rest) {
            // In two parts.
            var bytes = pixels(frame)
            // The length of the first block.
            if index == brokenPixels { bytes[3] ^= 0xFF }
            file += control(frame) + SyntheticImage.chunk("fdAT", next() + bytes.prefix(5))
            file += SyntheticImage.chunk("fdAT", next() + bytes.dropFirst(5))
        }
        return file + SyntheticImage.chunk("IEND", [])
    }
}
