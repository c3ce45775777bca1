internal import ImageModel
internal import Transcoder

/// The pixels of a GIF's canvas that its frames have drawn: the others are transparent, as in browsers.
///
/// libvips 8.14.1 gives a GIF without a transparent colour no alpha and leaves them black. Decodes no pixel.
struct GIFCoverage: Sendable {
    private struct Frame: Sendable {
        let rect: PixelRect
        /// GIF89a, 23: 2 clears the rectangle after the frame, 3 restores the previous pixels.
        let disposal: Int
    }

    private let canvas: PixelSize
    private let frames: [Frame]
    private var next = 0
    /// 255 for each drawn pixel; empty before the first frame.
    private var mask: [UInt8] = []

    /// Reads the rectangles of up to `SourceHeader.frameLimit` frames. Checks all lengths.
    init(_ bytes: UnsafeRawBufferPointer, canvas: PixelSize) {
        self.canvas = canvas
        var frames: [Frame] = [], disposal = 0
        var offset = 13 + Self.tableLength(bytes, 10)
        loop: while frames.count < SourceHeader.frameLimit, let kind = bytes.bigEndian(at: offset, length: 1) {
            switch kind {
            case 0x21:
                if bytes.bigEndian(at: offset + 1, length: 2) == 0xF904 {
                    disposal = (bytes.bigEndian(at: offset + 3, length: 1) ?? 0) >> 2 & 7
                }
                offset = Self.endOfBlocks(bytes, offset + 2)
            case 0x2C:
                let numbers = (0..<4).compactMap { bytes.littleEndian(at: offset + 1 + 2 * $0, length: 2) }
                guard numbers.count == 4 else { break loop }
                let (x, y) = (min(numbers[0], canvas.width), min(numbers[1], canvas.height))
                let rect = PixelRect(
                    x: x, y: y, width: min(numbers[2], canvas.width - x), height: min(numbers[3], canvas.height - y))
                frames.append(Frame(rect: rect, disposal: disposal))
                disposal = 0
                offset = Self.endOfBlocks(bytes, offset + 11 + Self.tableLength(bytes, offset + 9))
            default: break loop
            }
        }
        self.frames = frames
    }

    /// Bytes of the colour table announced by the flags at an offset.
    static func tableLength(_ bytes: UnsafeRawBufferPointer, _ flags: Int) -> Int {
        guard let flags = bytes.bigEndian(at: flags, length: 1), flags & 0x80 != 0 else { return 0 }
        return 3 << ((flags & 7) + 1)
    }

    private static func endOfBlocks(_ bytes: UnsafeRawBufferPointer, _ start: Int) -> Int {
        var offset = start
        while let length = bytes.bigEndian(at: offset, length: 1) {
            offset += 1 + length
            if length == 0 { break }
        }
        return offset
    }

    /// Whether a frame may show an undrawn pixel.
    var hasHoles: Bool {
        let whole = PixelRect(x: 0, y: 0, width: canvas.width, height: canvas.height)
        var hole: PixelRect? = whole
        for frame in frames {
            if let missing = hole, !frame.rect.contains(missing) { return true }
            if frame.disposal == 2 { hole = frame.rect } else if frame.disposal != 3 { hole = nil }
        }
        return false
    }

    /// The alpha of the next displayed frame, row by row.
    mutating func nextAlpha() -> [UInt8] {
        if mask.isEmpty { mask = [UInt8](repeating: 0, count: canvas.area) }
        guard next < frames.count else { return mask }
        let frame = frames[next], before = frame.disposal == 3 ? mask : []
        next += 1
        fill(frame.rect, 255)
        let shown = mask
        if frame.disposal == 2 { fill(frame.rect, 0) }
        if frame.disposal == 3 { mask = before }
        return shown
    }

    private mutating func fill(_ rect: PixelRect, _ value: UInt8) {
        for y in rect.y..<rect.y + rect.height {
            let start = y * canvas.width + rect.x
            for place in start..<start + rect.width { mask[place] = value }
        }
    }
}

extension PixelRect {
    fileprivate func contains(_ other: PixelRect) -> Bool {
        x <= other.x && y <= other.y && x + width >= other.x + other.width && y + height >= other.y + other.height
    }
}
