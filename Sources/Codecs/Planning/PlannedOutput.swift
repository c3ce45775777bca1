internal import ImageModel
internal import Transcoder

/// One variant in a plan: the source of its pixels, the drawing steps, and the encoding.
struct PlannedOutput: Sendable, Hashable {
    /// The source of the pixels.
    enum Start: Sendable, Hashable {
        /// The decoded image.
        case base
        /// The image decoded a second time, with the colours of its own profile.
        case ownProfile
        /// The pixels of another variant.
        case output(Int)
    }

    /// The variant's drawing.
    let drawing: Drawing
    private(set) var start: Start
    /// The steps from the start; empty when another variant has the same pixels.
    private(set) var steps: [DrawStep]
    let encoding: Encoding
    /// The chroma of its planes: what it is written with, or full where an output that starts from it needs that.
    private(set) var chroma = PlanarImage.Chroma.full
    /// The bytes of its planes: those that it is written with, or the full range where another output has the same
    /// pixels and is written with that.
    private(set) var range = PlanarImage.Range.full
    /// The variant that has the same bytes.
    private(set) var sameBytesAs: Int?

    private init(_ drawing: Drawing, _ encoding: Encoding) {
        self.drawing = drawing
        self.encoding = encoding
        start = encoding.keepICC ? .ownProfile : .base
        steps = drawing.steps
        chroma = writtenChroma
        if isPlanar { range = encoding.range }
    }

    /// All variants of a plan, and the order of making them.
    static func all(
        _ variants: [Variant], _ drawings: [Result<Drawing, TranscodeError>], of header: SourceHeader,
        writable: Set<ImageFormat>
    ) -> (outputs: [Result<PlannedOutput, TranscodeError>], order: [Int]) {
        var outputs = zip(variants, drawings).map { variant, drawing in
            drawing.map { PlannedOutput($0, Encoding(variant, $0, of: header, writable: writable)) }
        }
        // The larger first, so that smaller ones can be drawn from them; equal ones in the order given.
        let areas = outputs.map { (try? $0.get())?.drawing.size.area }
        let order = outputs.indices.filter { areas[$0] != nil }.sorted { one, other in
            (areas[one] ?? 0, other) > (areas[other] ?? 0, one)
        }
        for (place, index) in order.enumerated() {
            guard case .success(var output) = outputs[index] else { continue }
            for earlier in order[..<place] {
                guard case .success(let candidate) = outputs[earlier] else { continue }
                output.reuse(candidate, number: earlier)
            }
            outputs[index] = .success(output)
        }
        // Each start is larger than what is drawn from it: before the first with halved chroma none must be full.
        for output in outputs.compactMap({ try? $0.get() }) {
            var start = output.start
            while case .output(let number) = start, case .success(var source) = outputs[number],
                output.needsFullChroma(of: source.drawing.size)
            {
                source.chroma = .full
                outputs[number] = .success(source)
                start = source.start
            }
        }
        for output in outputs.compactMap({ try? $0.get() }) where output.steps.isEmpty {
            guard case .output(let number) = output.start, case .success(var source) = outputs[number],
                source.range != output.range
            else { continue }
            source.range = .full
            outputs[number] = .success(source)
        }
        return (outputs, order)
    }

    /// Reuses bytes or pixels of a larger variant when the result is the same, or the difference is not visible.
    private mutating func reuse(_ other: PlannedOutput, number: Int) {
        guard sameBytesAs == nil else { return }
        let hasSameSteps = drawing.steps == other.drawing.steps && drawing.trimming == other.drawing.trimming
        if hasSameSteps && encoding == other.encoding { sameBytesAs = other.sameBytesAs ?? number }
        guard !encoding.isAnimated, !other.encoding.isAnimated, encoding.keepICC == other.encoding.keepICC else {
            return
        }
        if hasSameSteps {
            if !steps.isEmpty { (start, steps) = (.output(number), []) }
            return
        }
        // At five eighths of the size or less the second resampling is not visible;
        // Benchmarks/Results/planes.md has the measurements.
        guard !steps.isEmpty, other.drawing.isPlainScale, let first = drawing.firstScale,
            case .scale = drawing.steps.first,
            first.width * 8 <= other.drawing.size.width * 5, first.height * 8 <= other.drawing.size.height * 5
        else { return }
        (start, steps) = (.output(number), drawing.steps)
    }

    /// Whether it is written from planes where they show what is drawn: opaque, in a format that is written from planes,
    /// with loss, without the original's metadata.
    var fitsPlanes: Bool {
        PlaneCodec.all[encoding.format]?.encoder != nil && !drawing.hasAlpha && encoding.background == nil
            && !encoding.isAnimated && !encoding.isLossless && encoding.ssim == nil && encoding.others.isEmpty
            && !encoding.keepICC
            && !encoding.keepCopyright
    }

    /// The steps that planes do not give.
    var stepsOnPixels: ArraySlice<DrawStep> {
        var rest: ArraySlice<DrawStep> = []
        _ = PlaneView(drawing.steps, of: drawing.original, rest: &rest)
        return rest
    }

    /// Whether the whole of it is made by planes.
    var isPlanar: Bool { fitsPlanes && stepsOnPixels.isEmpty }

    /// The chroma that its own file needs. libvips gets pixels, which have full chroma.
    private var writtenChroma: PlanarImage.Chroma { isPlanar ? encoding.chroma : .full }

    /// Whether an image of `size` must have full chroma for this output to be drawn from it. Halved chroma suffices where
    /// it has as many samples as the output has pixels, with the output's headroom.
    func needsFullChroma(of size: PixelSize) -> Bool {
        let needed = drawing.neededSize, factor = 2 * chromaHeadroom
        return writtenChroma == .full
            && (Double(needed.width) * factor > Double(size.width)
                || Double(needed.height) * factor > Double(size.height))
    }

    /// How much larger than needed halved chroma is held where planes shrink it further: chroma resampled twice is
    /// softer, which encoders hide the more, the lower the quality is.
    private var chromaHeadroom: Double {
        encoding.all.map { encoding in
            guard !encoding.isLossless, let quality = encoding.quality else { return 2 }
            return quality >= 90 ? 1.3 : 1
        }.max() ?? 2
    }

    /// How much larger than needed libjpeg must leave an image that it shrinks by `factor`: what it leaves is softer than
    /// what Lanczos makes of every pixel, most at 4 and 8, and encoders hide that only at low qualities.
    func headroom(shrunkBy factor: Int) -> Double {
        encoding.all.map { encoding in
            guard !encoding.isLossless, let quality = encoding.quality, factor < 4 || quality < 60 else { return 2 }
            return quality < 60 ? 1 : 1.3
        }.max() ?? 2
    }
}

extension Variant {
    /// The drawing of the variant; nil when it is a copy of the original's bytes.
    ///
    /// Source: SDWebImage 5.21.5, `callTransformProcessForOperation:` of `SDWebImageManager`, and `storeImage:` of
    /// `SDImageCache`. A `format` is Larder's own: what it names is drawn.
    func drawn(of header: SourceHeader, _ options: TranscodeRequest.Options) -> Variant? {
        if header.format.isVector {
            // An image decoded at a thumbnail size consists of pixels.
            let isVector = thumbnail == nil && format == nil && automatic == nil && trim == nil
            return isVector && !transforms.isEmpty && !options.contains(.transformsVector) ? nil : self
        }
        guard header.isAnimated, animation == nil, trim == nil, !options.contains(.firstFrameOnly) else { return self }
        if options.contains(.transformsAnimated) && (thumbnail == nil || !transforms.isEmpty) { return self }
        // A thumbnail has no bytes of its own and is encoded again, except as an object that carries the animation's.
        guard thumbnail != nil, !options.contains(.keepsAnimation) else { return nil }
        if automatic != nil { return self }
        if let output = format?.output, !output.holdsFrames || output.isStillByName { return self }
        let hasOneFrame = options.contains(.encodesFirstFrame) || !header.hasReadableFrames
        return hasOneFrame ? thumbnailOfFirstFrame : thumbnailOfEveryFrame
    }
}
