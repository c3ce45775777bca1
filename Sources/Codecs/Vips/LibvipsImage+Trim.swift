private import CVips
internal import ImageModel
internal import Transcoder

extension LibvipsImage {
    /// libvips compares medians of squares of this size with the colour, so that single pixels do not count.
    private static let medianSide = 3

    /// The part within a border of one colour; the whole image if it has no border or only one colour. Shares the
    /// pixels of an image in memory.
    ///
    /// With alpha, the union of the differences in colour, on the border's colour, and in alpha. Source: sharp 0.35.3,
    /// trim.
    func trimmed(_ trim: Trim) throws(CodecFailure) -> LibvipsImage {
        let memory = try inMemory()
        guard min(size.width, size.height) >= Self.medianSide, memory.isByteRGB,
            let first = larder_pixels(memory.pointer)
        else { return memory }
        var color = (0..<memory.bands).map { Double(first[$0]) }
        if let given = trim.color {
            color = [given.red, given.green, given.blue, given.alpha].prefix(memory.bands).map { ($0 * 255).rounded() }
        }
        var part = try memory.box(trim.threshold, Array(color.prefix(3)))
        if memory.hasAlpha, let opacity = color.last {
            let alpha = try LibvipsImage { larder_byte_alpha(memory.pointer, $0) }
            part = try part.union(alpha.box(trim.threshold, [opacity]))
        }
        return part.width == 0 || part.size == size ? memory : try memory.drawn(.crop(part))
    }

    /// The smallest rectangle around everything that differs from a colour; zero width if nothing does.
    private func box(_ threshold: Double, _ color: [Double]) throws(CodecFailure) -> PixelRect {
        var box = [Int32](repeating: 0, count: 4)
        try CodecFailure.check { larder_find_trim(pointer, threshold, color, Int32(color.count), &box) == 0 }
        return PixelRect(x: Int(box[0]), y: Int(box[1]), width: Int(box[2]), height: Int(box[3]))
    }
}

extension PixelRect {
    fileprivate func union(_ other: PixelRect) -> PixelRect {
        if width == 0 || height == 0 { return other }
        if other.width == 0 || other.height == 0 { return self }
        let left = min(x, other.x), top = min(y, other.y)
        return PixelRect(
            x: left, y: top, width: max(x + width, other.x + other.width) - left,
            height: max(y + height, other.y + other.height) - top)
    }
}

/// Trimmed parts of one image: finding one takes longer than most drawings, so outputs with the same trim share it.
final class TrimmedImages {
    private var parts: [Trim: SharedImage] = [:]

    /// The part within the border, a view of the image in memory.
    func part(_ trim: Trim, of whole: SharedImage) throws(CodecFailure) -> SharedImage {
        if let part = parts[trim] { return part }
        let part = SharedImage(try whole.image.trimmed(trim))
        parts[trim] = part
        return part
    }

    /// The image on which an output's steps are drawn, and those steps. For an output with a trim: the trimmed part, on
    /// whose size the steps depend.
    func start(
        of output: PlannedOutput, _ steps: ArraySlice<DrawStep>, whole: SharedImage
    ) throws(CodecFailure) -> (image: SharedImage, steps: ArraySlice<DrawStep>) {
        guard case .trim? = steps.first, let trimming = output.drawing.trimming else { return (whole, steps) }
        let part = try part(trimming.trim, of: whole)
        do throws(TranscodeError) {
            return (part, try trimming.drawing(of: part.image.size).steps[...])
        } catch {
            throw CodecFailure(message: error.message, isByRule: true)
        }
    }
}
