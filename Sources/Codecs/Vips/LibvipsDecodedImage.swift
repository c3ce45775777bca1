internal import ImageModel
internal import Transcoder

/// An image decoded by libvips, and the drawn outputs from which others start.
final class LibvipsDecodedImage: DecodedImage {
    /// One decoding pass: the frames, and the metadata that an output may keep.
    private struct Pass {
        var frames: [SharedImage] = []
        var kept = KeptMetadata()
        let trimmed = TrimmedImages()
    }

    private let plan: DecodePlan
    private let watermarks: WatermarkImages
    private let header: SourceHeader
    private let base: Pass
    /// In the colours of the original's profile; nil if no variant keeps it.
    private let ownProfile: Pass?
    private var drawn: [Int: [SharedImage]] = [:]
    /// The smallest output that shows the whole original and is large enough for a digest; nil if there is none.
    private let digestSource: Int?

    init(
        _ plan: DecodePlan, _ source: borrowing SourceImage, _ watermarks: WatermarkImages
    ) throws(CodecFailure) {
        self.plan = plan
        self.watermarks = watermarks
        header = source.header
        base = try Self.decode(plan, source, keepsProfile: false)
        let needsOwnProfile = plan.outputs.contains { (try? $0.get())?.start == .ownProfile }
        ownProfile = needsOwnProfile ? try Self.decode(plan, source, keepsProfile: true) : nil
        // Ordered by size, largest first.
        digestSource = plan.order.last { number in
            guard case .success(let output) = plan.outputs[number] else { return false }
            return output.showsWholeImage && output.sameBytesAs == nil && !output.encoding.keepICC
        }
    }

    /// - Parameter keepsProfile: keeps the colours in the image's profile; else converts to sRGB.
    private static func decode(
        _ plan: DecodePlan, _ source: borrowing SourceImage, keepsProfile: Bool
    ) throws(CodecFailure) -> Pass {
        let header = source.header, bytes = source.file.bytes
        var image = try LibvipsImage(header.format, bytes, shrink: plan.shrink, frames: plan.frames > 1 ? -1 : 1)
        var pass = Pass()
        pass.kept = source.copyright
        if keepsProfile { pass.kept.profile = image.bytes("icc-profile-data") }
        if let animation = header.format == .png ? try PNGAnimation(bytes) : nil {
            do throws(CodecFailure) {
                try image.forEachFrame(animation.frames.prefix(plan.frames), of: animation, in: bytes) {
                    (frame) throws(CodecFailure) in
                    let shown = header.hasAlpha ? try frame.copy() : try frame.opaque()
                    pass.frames.append(SharedImage(try prepared(shown, plan, header, keepsProfile: keepsProfile)))
                }
            } catch {
                // As browsers do: keep the frames before a broken one.
                guard !pass.frames.isEmpty else { throw error }
            }
            return pass
        }
        // A GIF without its own alpha gets one if its frames leave pixels undrawn.
        var coverage =
            header.format == .gif && header.hasAlpha && !image.hasAlpha
            ? GIFCoverage(bytes, canvas: header.storedSize) : nil
        if header.format == .avif, plan.frames > 1, let sequence = AVIFSequence(bytes) {
            guard sequence.size == header.storedSize else { throw CodecFailure.otherPixels }
            try image.forEachFrame(plan.frames, of: sequence, hasAlpha: header.hasAlpha) {
                (frame) throws(CodecFailure) in
                pass.frames.append(SharedImage(try prepared(frame, plan, header, keepsProfile: keepsProfile)))
            }
            return pass
        }
        guard plan.frames > 1 else {
            if let alpha = coverage?.nextAlpha() { image = try image.withAlpha(alpha) }
            pass.frames = [SharedImage(try prepared(image, plan, header, keepsProfile: keepsProfile))]
            return pass
        }
        image = try image.inMemory()
        for number in 0..<plan.frames {
            var frame = try image.drawn(
                .crop(PixelRect(x: 0, y: number * header.height, width: header.width, height: header.height)))
            if let alpha = coverage?.nextAlpha() { frame = try frame.withAlpha(alpha) }
            pass.frames.append(SharedImage(try prepared(frame, plan, header, keepsProfile: keepsProfile)))
        }
        return pass
    }

    /// A frame shrunk to the plan's size, 8-bit, upright, in memory.
    private static func prepared(
        _ frame: borrowing LibvipsImage, _ plan: DecodePlan, _ header: SourceHeader, keepsProfile: Bool
    ) throws(CodecFailure) -> LibvipsImage {
        // CMYK must be converted before resampling; everything else is converted once it is small.
        var image = frame.isCMYK ? try frame.inSRGB() : try frame.copy()
        if image.size != plan.base { image = try image.scaled(to: plan.base) }
        image = keepsProfile ? try image.asByteRGB() : try image.inSRGB()
        image = try image.inMemory()
        return header.orientation == 1 ? image : try image.upright(from: header.orientation).inMemory()
    }

    func draw(_ number: Int, _ output: PlannedOutput) throws(CodecFailure) -> any DrawnImage {
        let pass = output.encoding.keepICC ? ownProfile ?? base : base
        var (sources, steps) = (pass.frames, output.drawing.steps[...])
        // If the other output failed, draw this one with all steps.
        if case .output(let other) = output.start, let made = drawn[other] {
            (sources, steps) = (made, output.steps[...])
        }
        // Also kept for the digest, because a digest of the decoded image costs more than the smallest variant.
        let isReused = number == digestSource || plan.isStart(number)
        var frames: [SharedImage] = []
        for source in output.encoding.isAnimated ? sources[...] : sources.prefix(1) {
            let start = try pass.trimmed.start(of: output, steps, whole: source)
            steps = start.steps
            frames.append(
                SharedImage(try start.image.image.drawn(&steps, for: output, watermarks, isReadAgain: isReused)))
        }
        if isReused { drawn[number] = frames }
        var kept = pass.kept
        if !output.encoding.keepsCopyright { kept.exif = [:] }
        return LibvipsDrawnImage(header: header, images: frames, kept: kept)
    }

    /// A trimmed part is a view of the decoded image and takes no memory.
    func forget(allBut progress: OutputProgress) {
        let held = progress.held
        drawn = drawn.filter { held.contains($0.key) || $0.key == digestSource }
    }

    func digest() throws(CodecFailure) -> ImageDigest? {
        let source = digestSource.flatMap { drawn[$0]?.first } ?? base.frames.first
        return try source?.image.digest(header)
    }
}

extension LibvipsImage {
    /// A frame of an output after its steps, the first of which must not be a trim.
    ///
    /// - Parameters:
    ///   - steps: a smart crop found in this frame becomes a plain crop, so that further frames show the same part.
    ///   - isReadAgain: by another variant; its pixels are then computed once.
    func drawn(
        _ steps: inout ArraySlice<DrawStep>, for output: PlannedOutput, _ watermarks: WatermarkImages,
        isReadAgain: Bool
    ) throws(CodecFailure) -> LibvipsImage {
        var image = try copy()
        for index in steps.indices {
            if case .smartCrop(let size, let interest) = steps[index] {
                image = try image.inMemory()
                steps[index] = .crop(try image.part(size, interest))
            }
            image = try image.drawn(steps[index], watermarks)
        }
        if !output.drawing.hasAlpha { image = try image.opaque() }
        // Encoding at another quality reads it again too.
        return isReadAgain || output.encoding.isSearched ? try image.inMemory() : image
    }
}

/// One image per frame of an output.
struct LibvipsDrawnImage: DrawnImage {
    let header: SourceHeader
    let images: [SharedImage]
    let kept: KeptMetadata

    var frames: Int { images.count }
    var size: PixelSize { images.first?.image.size ?? PixelSize(width: 0, height: 0) }

    func encoded(_ encoding: Encoding, quality: Int?) throws(CodecFailure) -> EncodedFile {
        guard let first = images.first else { throw CodecFailure(message: "there is no frame") }
        guard encoding.isAnimated else {
            return try first.image.encoded(
                encoding.format, quality: quality, settings: encoding.options, background: encoding.background,
                keeping: kept)
        }
        if encoding.format == .png {
            return try LibvipsImage.animatedPNG(images, header, settings: encoding.options, keeping: kept)
        }
        return try LibvipsImage.animation(images, header, for: encoding.format)
            .encoded(encoding.format, quality: quality, settings: encoding.options, keeping: kept)
    }

    func rawRGBA() throws(CodecFailure) -> EncodedFile {
        guard let first = images.first else { throw CodecFailure(message: "there is no frame") }
        return try first.image.rawRGBA()
    }
}

extension DecodePlan {
    /// Whether another output starts from its pixels.
    func isStart(_ number: Int) -> Bool { outputs.contains { (try? $0.get())?.start == .output(number) } }
}

extension PlannedOutput {
    /// Whether it shows the whole original, large enough for a digest.
    var showsWholeImage: Bool {
        drawing.isPlainScale && min(drawing.size.width, drawing.size.height) >= ImageDigest.side
    }
}
