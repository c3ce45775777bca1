/// One picture in a child, from its bytes to the files of its variants: read top to bottom.
struct PictureJob {
    let limits: TranscodeLimits
    let scale: Double
    let transformsAnimated: Bool
    let canWriteHEIC: Bool
    /// When the first stage began.
    private let start = ContinuousClock.now

    init(limits: TranscodeLimits, scale: Double, transformsAnimated: Bool, canWriteHEIC: Bool) {
        self.limits = limits
        self.scale = scale
        self.transformsAnimated = transformsAnimated
        self.canWriteHEIC = canWriteHEIC
    }

    /// Reads and checks the header; no pixel is decoded.
    ///
    /// - Throws: `TranscodeError` 1001, 202, 203, 204.
    func header(of file: borrowing SourceFile) throws(TranscodeError) -> SourceHeader {
        guard let format = file.format else { throw TranscodeError(.undecodable, "the file is no known image") }
        guard limits.formats.contains(format) else {
            throw TranscodeError(.undecodable, "pictures of format \(format.name) are not accepted")
        }
        let header: SourceHeader
        do throws(VipsFailure) {
            header = try VipsPicture(format, file.bytes).header(format, file.bytes)
        } catch {
            throw error.as(.undecodable, "the \(format.name) cannot be read")
        }
        try limits.check(header)
        return header
    }

    /// Makes every variant and writes it to its output.
    ///
    /// - Throws: `TranscodeError` when none can be made: 1001, 205, 206.
    func run(
        _ file: borrowing SourceFile, _ header: SourceHeader, variants: [Variant], outputs: [OutputDescriptor]
    ) throws(TranscodeError) -> [Result<TranscodedVariant, TranscodeError>] {
        let copies = header.isAnimated && !transformsAnimated
        let plan = DecodePlan(header, variants: copies ? [] : variants, scale: scale, limits: limits)
        try limits.checkMemory(plan.memoryBytes)
        // Decoded even when nothing is drawn: what does not decode is no picture, and must not be stored as one.
        let base: VipsPicture
        do throws(VipsFailure) {
            base = try decode(file, header, plan)
        } catch {
            throw error.as(.undecodable, "the \(header.format.name) cannot be decoded")
        }
        if copies { return outputs.map { copyOriginal(file, header, to: $0) } }
        var results: [Result<TranscodedVariant, TranscodeError>] = []
        for (index, variant) in variants.enumerated() {
            do throws(TranscodeError) {
                let drawing = try plan.drawings[index].get()
                results.append(.success(try make(variant, drawing, header, from: base, to: outputs[index])))
            } catch {
                results.append(.failure(error))
            }
        }
        return results
    }

    /// An animated picture is not transformed unless asked: SDWebImage then stores the original under the variant's
    /// key, and so does Larder, saying so.
    private func copyOriginal(
        _ file: borrowing SourceFile, _ header: SourceHeader, to output: OutputDescriptor
    ) -> Result<TranscodedVariant, TranscodeError> {
        do throws(TranscodeError) {
            try output.write(file.bytes)
            let size = header.uprightSize
            return .success(
                TranscodedVariant(
                    format: header.format, width: size.width, height: size.height, bytes: file.bytes.count,
                    copied: true))
        } catch {
            return .failure(error)
        }
    }

    /// The picture all variants are drawn from: decoded once, shrunk to the largest need, 8-bit sRGB, upright, in memory.
    private func decode(
        _ file: borrowing SourceFile, _ header: SourceHeader, _ plan: DecodePlan
    ) throws(VipsFailure) -> VipsPicture {
        var picture = try VipsPicture(header.format, file.bytes, shrink: plan.shrink)
        // CMYK does not resample as the colours it prints; everything else is converted once it is small.
        if picture.isCMYK { picture = try picture.inSRGB() }
        if picture.size != plan.base { picture = try picture.scaled(to: plan.base) }
        picture = try picture.inSRGB().inMemory()
        return header.orientation == 1 ? picture : try picture.upright(from: header.orientation).inMemory()
    }

    private func make(
        _ variant: Variant, _ drawing: Drawing, _ header: SourceHeader, from base: borrowing VipsPicture,
        to output: OutputDescriptor
    ) throws(TranscodeError) -> TranscodedVariant {
        guard ContinuousClock.now - start < limits.softTime else {
            throw TranscodeError(.time, "the picture took longer than \(limits.softTime)")
        }
        let picture: VipsPicture
        do throws(VipsFailure) {
            var drawn = try base.copy()
            for step in drawing.steps { drawn = try drawn.drawn(step) }
            picture = drawn
        } catch {
            throw error.as(.transform, "the variant cannot be drawn")
        }
        let format = OutputFormat.decide(
            requested: variant.format, source: header.format, size: drawing.size, hasAlpha: picture.hasAlpha,
            canWriteHEIC: canWriteHEIC)
        let encoded: EncodedPicture
        do throws(VipsFailure) {
            encoded = try picture.encoded(format, quality: variant.quality)
        } catch {
            throw error.as(.encode, "the \(format.name) cannot be written")
        }
        guard !encoded.bytes.isEmpty else { throw TranscodeError(.encode, "the \(format.name) came out empty") }
        try output.write(encoded.bytes)
        return TranscodedVariant(
            format: format, width: drawing.size.width, height: drawing.size.height, bytes: encoded.bytes.count,
            copied: false)
    }
}
