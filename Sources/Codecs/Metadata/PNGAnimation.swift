internal import ImageModel

/// The frames of an animated PNG, read from its chunks without decoding pixels.
///
/// Source: PNG, third edition, 11.3.6 and 13.11. libvips and libspng read only the default image.
struct PNGAnimation: Sendable, Hashable {
    /// How a frame's rectangle is disposed of before the next frame is drawn.
    enum Disposal: Int, Sendable {
        case keep, clear, restore
    }

    enum Blending: Int, Sendable {
        case replace, over
    }

    struct Frame: Sendable, Hashable {
        let rect: PixelRect
        /// Duration in the file; may be 0.
        let seconds: Double
        let disposal: Disposal
        let blending: Blending
        /// True if a sequence number precedes each part (`fdAT`); false for the default image (`IDAT`).
        fileprivate let isNumbered: Bool
        /// Positions of its compressed pixels in the file.
        fileprivate(set) var parts: [Range<Int>] = []
    }

    let canvas: PixelSize
    /// At least two.
    private(set) var frames: [Frame] = []
    /// Number of plays; 0 repeats forever.
    private(set) var loopCount = 0
    /// Depth, colour type, compression, filter and interlacing of every frame.
    private let kind: [UInt8]
    /// Palette and transparency chunks, shared by all frames.
    private var shared: [UInt8] = []

    /// Nil for a still: a file without `acTL`, or with one frame.
    ///
    /// Ignores frames after the declared number and, as browsers do, from the first invalid frame on.
    ///
    /// - Throws: `CodecFailure` if the file is truncated.
    init?(_ bytes: UnsafeRawBufferPointer) throws(CodecFailure) {
        let declared = PNGChunks.frames(bytes)
        guard declared > 1, let width = bytes.bigEndian(at: 16), let height = bytes.bigEndian(at: 20),
            bytes.count >= 29
        else { return nil }
        canvas = PixelSize(width: width, height: height)
        kind = Array(bytes[24..<29])
        var reader = Reader(canvas: canvas, declared: declared)
        var isComplete = false
        PNGChunks.scan(bytes) { type, length, end in
            guard end <= bytes.count else { return false }
            isComplete = bytes.has("IEND", at: type)
            return !isComplete && reader.read(bytes, type, type + 4..<type + 4 + length)
        }
        guard isComplete || reader.hasFailed else { throw CodecFailure(message: "the file is cut") }
        reader.endFrame()
        (frames, loopCount, shared) = (reader.frames, reader.loopCount, reader.shared)
        guard frames.count > 1 else { return nil }
    }

    /// Whether a part of the canvas is transparent after a frame, although the frames' pixels are opaque.
    var clearsCanvas: Bool {
        frames.first?.rect.size != canvas || frames.dropLast().contains { $0.disposal == .clear }
            || frames.first?.disposal == .restore
    }

    /// A frame as a separate file.
    ///
    /// - Throws: `CodecFailure` if a checksum differs.
    func still(_ frame: Frame, of bytes: UnsafeRawBufferPointer) throws(CodecFailure) -> [UInt8] {
        var pixels: [UInt8] = []
        for part in frame.parts {
            let start = part.lowerBound - (frame.isNumbered ? 4 : 0)
            let checked = UnsafeRawBufferPointer(rebasing: bytes[start - 4..<part.upperBound])
            guard bytes.bigEndian(at: part.upperBound) == Int(PNGChunks.checksum(checked)) else {
                throw CodecFailure(message: "the checksum of a frame differs")
            }
            pixels += bytes[part]
        }
        let size = PNGChunks.bytes(frame.rect.width) + PNGChunks.bytes(frame.rect.height)
        return Array(bytes[..<8]) + PNGChunks.chunk("IHDR", size + kind) + shared + PNGChunks.chunk("IDAT", pixels)
            + PNGChunks.chunk("IEND", [])
    }
}

private struct Reader {
    let canvas: PixelSize
    let declared: Int
    var frames: [PNGAnimation.Frame] = []
    var loopCount = 0
    var shared: [UInt8] = []
    /// Whether a frame is invalid.
    private(set) var hasFailed = false
    private var frame: PNGAnimation.Frame?
    private var sequence = 0
    private var hasDefaultImage = false

    init(canvas: PixelSize, declared: Int) {
        self.canvas = canvas
        self.declared = declared
    }

    /// Returns false to stop reading.
    mutating func read(_ bytes: UnsafeRawBufferPointer, _ type: Int, _ content: Range<Int>) -> Bool {
        if bytes.has("acTL", at: type), content.count >= 8 {
            loopCount = bytes.bigEndian(at: content.lowerBound + 4) ?? 0
        } else if bytes.has("PLTE", at: type) || bytes.has("tRNS", at: type) {
            shared += bytes[type - 4..<content.upperBound + 4]
        } else if bytes.has("IDAT", at: type) {
            hasDefaultImage = true
            if frame?.isNumbered == true { return fail() }
            frame?.parts.append(content)
        } else if bytes.has("fcTL", at: type) {
            endFrame()
            guard !hasFailed, count(bytes, content) else { return false }
            frame = control(bytes, content)
            return frame != nil || fail()
        } else if bytes.has("fdAT", at: type) {
            guard count(bytes, content) else { return false }
            let checked = UnsafeRawBufferPointer(rebasing: bytes[type..<content.upperBound])
            guard hasDefaultImage, let current = frame, current.isNumbered,
                bytes.bigEndian(at: content.upperBound) == Int(PNGChunks.checksum(checked))
            else { return fail() }
            frame?.parts.append(content.lowerBound + 4..<content.upperBound)
        }
        return true
    }

    /// Appends the current frame, which must have pixels.
    mutating func endFrame() {
        guard let frame else { return }
        self.frame = nil
        guard !frame.parts.isEmpty else { return _ = fail() }
        if frames.count < declared { frames.append(frame) }
    }

    private mutating func fail() -> Bool {
        (hasFailed, frame) = (true, nil)
        return false
    }

    private mutating func count(_ bytes: UnsafeRawBufferPointer, _ content: Range<Int>) -> Bool {
        guard content.count >= 4, bytes.bigEndian(at: content.lowerBound) == sequence else {
            return fail()
        }
        sequence += 1
        return true
    }

    private func control(_ bytes: UnsafeRawBufferPointer, _ content: Range<Int>) -> PNGAnimation.Frame? {
        let start = content.lowerBound
        guard content.count >= 26, let width = bytes.bigEndian(at: start + 4),
            let height = bytes.bigEndian(at: start + 8), let x = bytes.bigEndian(at: start + 12),
            let y = bytes.bigEndian(at: start + 16), let dividend = bytes.bigEndian(at: start + 20, length: 2),
            let divisor = bytes.bigEndian(at: start + 22, length: 2),
            let disposal = PNGAnimation.Disposal(rawValue: Int(bytes[start + 24])),
            let blending = PNGAnimation.Blending(rawValue: Int(bytes[start + 25])),
            width > 0, height > 0, x + width <= canvas.width, y + height <= canvas.height
        else { return nil }
        let rect = PixelRect(x: x, y: y, width: width, height: height)
        // The default image fills the canvas.
        guard hasDefaultImage || rect.size == canvas else { return nil }
        return PNGAnimation.Frame(
            rect: rect, seconds: Double(dividend) / Double(divisor == 0 ? 100 : divisor), disposal: disposal,
            blending: blending, isNumbered: hasDefaultImage)
    }
}
