internal import ImageModel

/// Writes an animated PNG from its frames' files, which share depth and colour type.
///
/// Source: PNG, third edition, 11.3.6. The default image is the first frame.
struct PNGAnimationWriter {
    /// Complete when all frames are added.
    private(set) var file: [UInt8] = []
    private let frames: Int
    private let loopCount: Int
    private var added = 0
    private var sequence = 0
    /// The part after the pixels of the first frame's file.
    private var ending: [UInt8] = []

    init(frames: Int, loopCount: Int) {
        self.frames = frames
        self.loopCount = loopCount
    }

    /// Adds the next frame, which replaces a rectangle of the canvas.
    ///
    /// - Parameters:
    ///   - still: a valid PNG of the rectangle's size; the first frame's has the canvas' size.
    ///   - milliseconds: duration of the frame.
    mutating func add(_ still: UnsafeRawBufferPointer, _ rect: PixelRect, milliseconds: Int) {
        let isFirst = added == 0
        if isFirst { file += still[..<8] }
        var hasControl = false
        PNGChunks.scan(still) { type, length, end in
            guard end <= still.count else { return false }
            if still.has("IDAT", at: type) {
                if !hasControl { control(rect, milliseconds) }
                hasControl = true
                if isFirst { file += still[type - 4..<end] } else { number(still[type + 4..<type + 4 + length]) }
            } else if isFirst {
                if hasControl { ending += still[type - 4..<end] } else { file += still[type - 4..<end] }
                if still.has("IHDR", at: type) {
                    file += PNGChunks.chunk("acTL", PNGChunks.bytes(frames) + PNGChunks.bytes(loopCount))
                }
            }
            return true
        }
        added += 1
        if added == frames { file += ending }
    }

    private mutating func control(_ rect: PixelRect, _ milliseconds: Int) {
        // A PNG stores times as fractions of two 16-bit numbers.
        let divisor = [1000, 100, 10].first { milliseconds * $0 / 1000 <= 0xFFFF } ?? 1
        let dividend = min(0xFFFF, milliseconds * divisor / 1000)
        let numbers = [rect.width, rect.height, rect.x, rect.y].flatMap(PNGChunks.bytes)
        let time = PNGChunks.bytes(dividend).suffix(2) + PNGChunks.bytes(divisor).suffix(2)
        // The rectangle stays for the next frame and overwrites the pixels below.
        file += PNGChunks.chunk("fcTL", PNGChunks.bytes(sequence) + numbers + time + [0, 0])
        sequence += 1
    }

    private mutating func number(_ pixels: Slice<UnsafeRawBufferPointer>) {
        file += PNGChunks.chunk("fdAT", PNGChunks.bytes(sequence) + pixels)
        sequence += 1
    }

    /// The smallest rectangle that contains all differences of two images; one pixel if they are equal.
    ///
    /// - Parameters: four bytes per pixel, row by row.
    static func difference(_ one: UnsafeRawBufferPointer, _ other: UnsafeRawBufferPointer, _ size: PixelSize)
        -> PixelRect
    {
        let length = size.width * 4
        func differs(_ y: Int) -> Bool {
            !one[y * length..<(y + 1) * length].elementsEqual(other[y * length..<(y + 1) * length])
        }
        guard let top = (0..<size.height).first(where: differs),
            let bottom = (top..<size.height).last(where: differs)
        else { return PixelRect(x: 0, y: 0, width: 1, height: 1) }
        var (left, right) = (length, 0)
        for start in stride(from: top * length, through: bottom * length, by: length) {
            if let first = (0..<left).first(where: { one[start + $0] != other[start + $0] }) { left = first }
            if let last = (right..<length).last(where: { one[start + $0] != other[start + $0] }) { right = last }
        }
        let (x, end) = (left / 4, right / 4 + 1)
        return PixelRect(x: x, y: top, width: end - x, height: bottom + 1 - top)
    }
}
