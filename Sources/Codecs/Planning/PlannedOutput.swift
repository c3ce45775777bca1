internal import ImageModel
internal import Transcoder

/// One variant in a plan: pixel source, drawing steps, encoding.
struct PlannedOutput: Sendable, Hashable {
    enum Start: Sendable, Hashable {
        case base
        /// The image decoded a second time, in the colours of its own profile.
        case ownProfile
        /// The pixels of another variant.
        case output(Int)
    }

    let drawing: Drawing
    private(set) var start: Start
    /// Steps from the start; empty if another variant has the same pixels.
    private(set) var steps: [DrawStep]
    let encoding: Encoding
    /// Chroma of its planes: as written, or full if an output that starts from it needs that.
    private(set) var chroma = PlanarImage.Chroma.full
    /// Range of its planes: as written, or full if an output with the same pixels is written in full range.
    private(set) var range = PlanarImage.Range.full
    /// The variant with the same bytes.
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
        // Larger first, so that smaller ones can be drawn from them; equal ones in the given order.
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
        // Each start is larger than the outputs drawn from it: before the first with halved chroma none may be full.
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

    /// Reuses bytes or pixels of a larger variant if the result is the same or the difference invisible.
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
        // At five eighths of the size or less the second resampling is invisible; Benchmarks/Results/planes.md has the
        // measurements.
        guard !steps.isEmpty, other.drawing.isPlainScale, let first = drawing.firstScale,
            case .scale = drawing.steps.first,
            first.width * 8 <= other.drawing.size.width * 5, first.height * 8 <= other.drawing.size.height * 5
        else { return }
        (start, steps) = (.output(number), drawing.steps)
    }

    /// True if the output can be encoded directly from planes: opaque, lossy, a format with a plane encoder, no copied
    /// metadata.
    var fitsPlanes: Bool {
        PlaneCodec.all[encoding.format]?.encoder != nil && !drawing.hasAlpha && encoding.background == nil
            && !encoding.isAnimated && !encoding.isLossless && encoding.ssim == nil && encoding.others.isEmpty
            && !encoding.keepICC
            && !encoding.keepCopyright
    }

    /// The steps that planes cannot do.
    var stepsOnPixels: ArraySlice<DrawStep> {
        var rest: ArraySlice<DrawStep> = []
        _ = PlaneView(drawing.steps, of: drawing.original, rest: &rest)
        return rest
    }

    /// Whether it is made entirely from planes.
    var isPlanar: Bool { fitsPlanes && stepsOnPixels.isEmpty }

    /// The chroma that its own file needs. libvips gets pixels, which have full chroma.
    private var writtenChroma: PlanarImage.Chroma { isPlanar ? encoding.chroma : .full }

    /// Whether an image of `size` must have full chroma for drawing this output. Halved chroma suffices if it has as
    /// many samples as the output has pixels, including the output's headroom.
    func needsFullChroma(of size: PixelSize) -> Bool {
        let needed = drawing.neededSize, factor = 2 * chromaHeadroom
        return writtenChroma == .full
            && (Double(needed.width) * factor > Double(size.width)
                || Double(needed.height) * factor > Double(size.height))
    }

    /// Headroom of halved chroma that planes shrink further: chroma resampled twice is softer, which encoders hide more
    /// at lower qualities.
    private var chromaHeadroom: Double {
        encoding.all.map { encoding in
            guard !encoding.isLossless, let quality = encoding.quality else { return 2 }
            return quality >= 90 ? 1.3 : 1
        }.max() ?? 2
    }

    /// Headroom for libjpeg's shrinking by `factor`: its result is softer than Lanczos on every pixel, most at 4 and 8,
    /// and encoders hide that only at low qualities.
    func headroom(shrunkBy factor: Int) -> Double {
        encoding.all.map { encoding in
            guard !encoding.isLossless, let quality = encoding.quality, factor < 4 || quality < 60 else { return 2 }
            return quality < 60 ? 1 : 1.3
        }.max() ?? 2
    }
}

extension Variant {
    /// The variant to draw; nil if it is a copy of the original's bytes.
    ///
    /// Source: SDWebImage 5.21.5, `callTransformProcessForOperation:` of `SDWebImageManager`, and `storeImage:` of
    /// `SDImageCache`. A `format`, Larder's addition, is always drawn.
    func drawn(of header: SourceHeader, _ options: TranscodeRequest.Options) -> Variant? {
        if header.format.isVector {
            // An image decoded at a thumbnail size consists of pixels.
            let isVector = thumbnail == nil && format == nil && automatic == nil && trim == nil
            return isVector && !transforms.isEmpty && !options.contains(.transformsVector) ? nil : self
        }
        guard header.isAnimated, animation == nil, trim == nil, !options.contains(.firstFrameOnly) else { return self }
        if options.contains(.transformsAnimated) && (thumbnail == nil || !transforms.isEmpty) { return self }
        // A thumbnail is encoded again, except as an object that carries the animation's bytes.
        guard thumbnail != nil, !options.contains(.keepsAnimation) else { return nil }
        if automatic != nil { return self }
        if let output = format?.output, !output.holdsFrames || output.isStillByName { return self }
        let hasOneFrame = options.contains(.encodesFirstFrame) || !header.hasReadableFrames
        return hasOneFrame ? thumbnailOfFirstFrame : thumbnailOfEveryFrame
    }
}
