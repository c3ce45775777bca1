internal import ImageModel

/// The decoded picture and what was drawn from it, as far as something is still drawn from that.
final class Pictures {
    private let plan: DecodePlan
    /// One for each frame.
    private var base: [SharedPicture] = []
    private var ownProfile: [SharedPicture] = []
    private var drawn: [Int: [SharedPicture]] = [:]
    /// The smallest output that shows all of the original and is large enough for a digest; nil where none is.
    private let digestSource: Int?
    /// What the original had of metadata that a variant may keep.
    private var kept: [Bool: KeptSource] = [:]

    private struct KeptSource {
        let exif: [String: String]
        let profile: [UInt8]?
    }

    init(plan: DecodePlan) {
        self.plan = plan
        let whole = plan.order.filter { number in
            guard case .success(let output) = plan.outputs[number] else { return false }
            let size = output.drawing.size
            return output.drawing.isPlainScale && output.sameBytesAs == nil && !output.encoding.keepICC
                && min(size.width, size.height) >= VipsDigester.side
        }
        // The order is by size, the largest first.
        digestSource = whole.last
    }

    /// Decodes the picture all variants are drawn from: once, shrunk to the largest need, 8-bit, upright, in memory.
    ///
    /// - Parameter keepsProfile: its colours stay those of its own profile; else they become sRGB.
    func decode(_ file: borrowing SourceFile, _ header: SourceHeader, keepsProfile: Bool) throws(VipsFailure) {
        var picture = try VipsPicture(header.format, file.bytes, shrink: plan.shrink, frames: plan.frames > 1 ? -1 : 1)
        var exif: [String: String] = [:]
        for name in KeptMetadata.copyrightFields { exif[name] = picture.text(name) }
        kept[keepsProfile] = KeptSource(exif: exif, profile: keepsProfile ? picture.bytes("icc-profile-data") : nil)
        var frames: [SharedPicture] = []
        if plan.frames > 1 { picture = try picture.inMemory() }
        for number in 0..<plan.frames {
            let frame =
                plan.frames == 1
                ? try picture.copy()
                : try picture.drawn(
                    .crop(PixelRect(x: 0, y: number * header.height, width: header.width, height: header.height)))
            frames.append(SharedPicture(try prepared(frame, header, keepsProfile: keepsProfile)))
        }
        if keepsProfile { ownProfile = frames } else { base = frames }
    }

    private func prepared(
        _ frame: borrowing VipsPicture, _ header: SourceHeader, keepsProfile: Bool
    ) throws(VipsFailure) -> VipsPicture {
        // CMYK does not resample as the colours it prints; everything else is converted once it is small.
        var picture = frame.isCMYK ? try frame.inSRGB() : try frame.copy()
        if picture.size != plan.base { picture = try picture.scaled(to: plan.base) }
        picture = keepsProfile ? try picture.asByteRGB() : try picture.inSRGB()
        picture = try picture.inMemory()
        return header.orientation == 1 ? picture : try picture.upright(from: header.orientation).inMemory()
    }

    /// The pixels of an output, one picture for each frame it has; kept for those that begin from them.
    func draw(_ number: Int, _ output: PlannedOutput) throws(VipsFailure) -> [SharedPicture] {
        var (sources, steps) = (output.encoding.keepICC ? ownProfile : base, output.drawing.steps)
        // Where that one failed, it is drawn in full.
        if case .output(let other) = output.start, let made = drawn[other] { (sources, steps) = (made, output.steps) }
        // Kept for the digest, too: from the decoded picture that would cost more than the smallest variant does.
        let isReused =
            number == digestSource || plan.outputs.contains { (try? $0.get())?.start == .output(number) }
        var frames: [SharedPicture] = []
        for source in output.encoding.isAnimated ? sources[...] : sources.prefix(1) {
            var picture = try source.picture.copy()
            for step in steps { picture = try picture.drawn(step) }
            if !output.drawing.hasAlpha { picture = try picture.opaque() }
            // Evaluated once, where it is read again: by another variant, or by another encoding at another quality.
            let isReadAgain = isReused || output.encoding.maxBytes != nil
            frames.append(SharedPicture(isReadAgain ? try picture.inMemory() : picture))
        }
        if isReused { drawn[number] = frames }
        return frames
    }

    /// The bytes of frames that `draw` has made.
    func encode(
        _ frames: [SharedPicture], _ encoding: Encoding, quality: Int?, _ header: SourceHeader
    ) throws(VipsFailure) -> EncodedPicture {
        guard let first = frames.first else { throw VipsFailure() }
        let kept = metadata(for: encoding)
        guard encoding.isAnimated else {
            return try first.picture.encoded(
                encoding.format, quality: quality, background: encoding.background, keeping: kept)
        }
        let strip = try VipsPicture.animation(
            frames, milliseconds: header.frameMilliseconds, loopCount: header.loopCount, for: encoding.format)
        return try strip.encoded(encoding.format, quality: quality, keeping: kept)
    }

    /// What an output keeps of the original's metadata.
    private func metadata(for encoding: Encoding) -> KeptMetadata {
        let source = kept[encoding.keepICC]
        return KeptMetadata(
            exif: encoding.keepCopyright ? source?.exif ?? [:] : [:], profile: encoding.keepICC ? source?.profile : nil)
    }

    /// The smallest picture at hand that shows all of the original and is large enough for a digest.
    var smallestWhole: VipsDigester {
        VipsDigester(source: digestSource.flatMap { drawn[$0]?.first } ?? base.first)
    }
}

extension DecodePlan {
    /// Whether a variant keeps the original's profile.
    var needsOwnProfile: Bool { outputs.contains { (try? $0.get())?.start == .ownProfile } }
}
