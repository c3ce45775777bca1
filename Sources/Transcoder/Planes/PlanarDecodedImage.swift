internal import ImageModel

/// An image decoded to planes, and the drawn outputs from which others start.
final class PlanarDecodedImage: DecodedImage {
    private let plan: DecodePlan
    private let header: SourceHeader
    private let base: PlanarImage
    private var drawn: [Int: PlanarImage] = [:]
    /// The smallest image in memory that shows the whole original and is large enough for a digest.
    private var smallestWhole: PlanarImage

    init(_ plan: DecodePlan, _ file: borrowing SourceFile, _ header: SourceHeader) throws(CodecFailure) {
        guard let codec = PlaneCodec.all[header.format] else { throw CodecFailure(message: "there are no planes") }
        let stored = try codec.decode(file.bytes, header.storedSize, plan.shrink)
        var view = PlaneView(whole: plan.base)
        view.mirrorsColumns = [2, 3, 7, 8].contains(header.orientation)
        view.mirrorsRows = [3, 4, 6, 7].contains(header.orientation)
        let shrunk = try stored.drawn(view, chroma: plan.chroma)
        self.plan = plan
        self.header = header
        base = header.orientation >= 5 ? try shrunk.transposed() : shrunk
        smallestWhole = base
    }

    func draw(_ number: Int, _ output: PlannedOutput) throws(CodecFailure) -> any DrawnImage {
        var (source, steps) = (base, output.drawing.steps)
        // When the other output failed, this one is drawn with all steps.
        if case .output(let other) = output.start, let made = drawn[other] { (source, steps) = (made, output.steps) }
        guard let view = PlaneView(steps, of: source.size) else {
            throw CodecFailure(message: "planes cannot be drawn by these steps")
        }
        let image = try source.drawn(view, chroma: plan.chroma)
        if plan.isStart(number) { drawn[number] = image }
        if output.showsWholeImage && image.size.area < smallestWhole.size.area { smallestWhole = image }
        return PlanarDrawnImage(image: image, chroma: plan.chroma)
    }

    func digest() throws(CodecFailure) -> ImageDigest? {
        let source = smallestWhole
        return try ImageDigest(hasAlpha: header.hasAlpha, frames: header.frames, size: source.size) {
            (size) throws(CodecFailure) in try source.digestPixels(size)
        }
    }
}

private struct PlanarDrawnImage: DrawnImage {
    let image: PlanarImage
    let chroma: PlanarImage.Chroma

    var frames: Int { 1 }

    func encoded(_ encoding: Encoding, quality: Int?) throws(CodecFailure) -> EncodedFile {
        guard let encoder = PlaneCodec.all[encoding.format]?.encoder else {
            throw CodecFailure(message: "there is no encoder for planes")
        }
        let quality = quality ?? 0, wanted = encoder.chroma(encoding.options, quality)
        let image = wanted == chroma ? image : try image.drawn(PlaneView(whole: image.size), chroma: wanted)
        return try encoder.encode(image, encoding.options, quality)
    }

    func rawRGBA() throws(CodecFailure) -> EncodedFile { throw CodecFailure(message: "planes have no RGBA") }
}

extension PlanarImage {
    /// The image stretched to a small size, in sRGB.
    fileprivate func digestPixels(_ size: PixelSize) throws(CodecFailure) -> DigestPixels {
        let small = try drawn(PlaneView(whole: size), chroma: .full)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(size.area * 4)
        for y in 0..<size.height {
            for x in 0..<size.width {
                func sample(_ plane: SamplePlane) -> Float { Float(plane.start[y * plane.stride + x]) }
                let (luma, cb, cr) = (sample(small.luma), sample(small.cb) - 128, sample(small.cr) - 128)
                // JFIF 1.02's matrix.
                let green = luma - 0.344136 * cb - 0.714136 * cr
                for value in [luma + 1.402 * cr, green, luma + 1.772 * cb] {
                    bytes.append(UInt8(min(max(value.rounded(), 0), 255)))
                }
                bytes.append(255)
            }
        }
        return DigestPixels(width: size.width, height: size.height, bytes: bytes)
    }
}
