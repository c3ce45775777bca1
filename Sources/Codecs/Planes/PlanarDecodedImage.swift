internal import ImageModel
internal import Transcoder

/// An image decoded to planes, and the drawn outputs from which others start.
///
/// Outputs are shrunk, cropped and mirrored as planes. libvips does the remaining steps on the pixels of the shrunk
/// planes.
final class PlanarDecodedImage: DecodedImage {
    private enum Source {
        case planes(PlanarImage)
        case pixels(SharedImage)
    }

    private let plan: DecodePlan
    private let watermarks: WatermarkImages
    private let header: SourceHeader
    private let base: PlanarImage
    private let kept: KeptMetadata
    private var drawn: [Int: Source] = [:]
    /// The base's pixels, for trimming, and the trimmed parts; nil until a variant needs them.
    private var untrimmed: SharedImage?
    private var trimmed = TrimmedImages()
    /// The smallest whole image in memory that is large enough for a digest.
    private var smallestWhole: PlanarImage

    init(
        _ plan: DecodePlan, _ source: inout SourceImage, _ watermarks: WatermarkImages
    ) throws(CodecFailure) {
        let header = source.header
        guard let reader = source.planes.take() else { throw CodecFailure(message: "there are no planes") }
        let stored = try reader.decode(header.storedSize, shrink: plan.shrink)
        var view = PlaneView(whole: plan.base)
        view.mirrorsColumns = [2, 3, 7, 8].contains(header.orientation)
        view.mirrorsRows = [3, 4, 6, 7].contains(header.orientation)
        let shrunk = try stored.drawn(view, chroma: plan.chroma, range: plan.range)
        self.plan = plan
        self.watermarks = watermarks
        self.header = header
        let upright = header.orientation >= 5 ? try shrunk.transposed() : shrunk
        kept = source.copyright
        base = try source.profile.flatMap(MatrixProfile.init)?.converted(upright) ?? upright
        smallestWhole = base
    }

    func draw(_ number: Int, _ output: PlannedOutput) throws(CodecFailure) -> any DrawnImage {
        // If the other output failed, draw this one with all steps.
        if case .output(let other) = output.start, let made = drawn[other] {
            switch made {
            case .planes(let image): return try draw(number, output, from: image, output.steps)
            case .pixels(let image): return try draw(number, output, from: image, output.steps[...])
            }
        }
        return try draw(number, output, from: base, output.drawing.steps)
    }

    private func draw(
        _ number: Int, _ output: PlannedOutput, from source: PlanarImage, _ steps: [DrawStep]
    ) throws(CodecFailure) -> any DrawnImage {
        var rest: ArraySlice<DrawStep> = []
        let view = PlaneView(steps, of: source.size, rest: &rest)
        let isPlanar = rest.isEmpty && output.fitsPlanes, isStart = plan.isStart(number)
        let image = try source.drawn(view, chroma: output.chroma, range: output.range)
        if rest.isEmpty {
            if isStart { drawn[number] = .planes(image) }
            if output.showsWholeImage && image.size.area < smallestWhole.size.area { smallestWhole = image }
        }
        if isPlanar { return PlanarDrawnImage(image: image) }
        guard case .trim? = rest.first else {
            return try draw(number, output, from: SharedImage(LibvipsImage(image)), rest)
        }
        let part = try trimmed.start(of: output, rest, whole: basePixels())
        return try draw(number, output, from: part.image, part.steps)
    }

    /// The base's pixels, kept for further trims.
    private func basePixels() throws(CodecFailure) -> SharedImage {
        if let untrimmed { return untrimmed }
        let pixels = SharedImage(try LibvipsImage(base))
        untrimmed = pixels
        return pixels
    }

    private func draw(
        _ number: Int, _ output: PlannedOutput, from source: SharedImage, _ steps: ArraySlice<DrawStep>
    ) throws(CodecFailure) -> any DrawnImage {
        let isStart = plan.isStart(number)
        var steps = steps
        let image = SharedImage(try source.image.drawn(&steps, for: output, watermarks, isReadAgain: isStart))
        if isStart && drawn[number] == nil { drawn[number] = .pixels(image) }
        return LibvipsDrawnImage(
            header: header, images: [image], kept: output.encoding.keepsCopyright ? kept : KeptMetadata())
    }

    func forget(allBut progress: OutputProgress) {
        let held = progress.held
        drawn = drawn.filter { held.contains($0.key) }
        if !progress.needsTrimming { (untrimmed, trimmed) = (nil, TrimmedImages()) }
    }

    func digest() throws(CodecFailure) -> ImageDigest? {
        let source = smallestWhole
        // The source may be stretched, but the digest has the original's shape.
        return try ImageDigest(hasAlpha: header.hasAlpha, frames: header.frames, size: header.uprightSize) {
            (size) throws(CodecFailure) in try source.digestPixels(size)
        }
    }
}

private struct PlanarDrawnImage: DrawnImage {
    let image: PlanarImage

    var frames: Int { 1 }
    var size: PixelSize { image.size }

    func encoded(_ encoding: Encoding, quality: Int?) throws(CodecFailure) -> EncodedFile {
        guard let encoder = PlaneCodec.all[encoding.format]?.encoder else {
            throw CodecFailure(message: "there is no encoder for planes")
        }
        let quality = quality ?? 0
        let chroma = encoder.chroma(encoding.options, quality)
        let written = image.model == .grey ? image : try image.inYCC(chroma, encoder.range)
        return try encoder.encode(written, encoding.options, quality)
    }

    func rawRGBA() throws(CodecFailure) -> EncodedFile { throw CodecFailure(message: "planes have no RGBA") }
}

extension PlanarImage {
    /// The image stretched to a small size, in sRGB.
    fileprivate func digestPixels(_ size: PixelSize) throws(CodecFailure) -> DigestPixels {
        let small = try drawn(PlaneView(whole: size), chroma: .full).inRGB()
        let bands = small.alpha == nil ? 3 : 4
        var pixels = [UInt8](repeating: 0, count: size.area * bands)
        pixels.withUnsafeMutableBufferPointer { if let start = $0.baseAddress { small.copyPixels(to: start) } }
        if bands == 3 {
            let colors = pixels
            pixels = [UInt8](repeating: 255, count: size.area * 4)
            for pixel in 0..<size.area {
                for band in 0..<3 { pixels[pixel * 4 + band] = colors[pixel * 3 + band] }
            }
        }
        return DigestPixels(width: size.width, height: size.height, bytes: pixels)
    }
}
