internal import ImageModel

/// Draws, encodes and writes the outputs of a plan, one after another.
struct VariantWriter {
    let header: SourceHeader
    let plan: DecodePlan
    let pictures: DecodedPicture
    let deadline: ContinuousClock.Instant
    /// Whether outputs get plain pixels in place of a file.
    var givesPixels = false
    private var written: [Int: Written] = [:]

    private struct Written {
        let variant: TranscodedVariant
        let file: EncodedFile
    }

    init(header: SourceHeader, plan: DecodePlan, pictures: DecodedPicture, deadline: ContinuousClock.Instant) {
        self.header = header
        self.plan = plan
        self.pictures = pictures
        self.deadline = deadline
    }

    /// Makes one output; what it is drawn from, or the same as, must have been made.
    ///
    /// - Throws: `TranscodeError` 206, 401, 402, 403.
    mutating func write(_ number: Int, to descriptor: OutputDescriptor, _ limits: TranscodeLimits)
        throws(TranscodeError) -> TranscodedVariant
    {
        let output = try plan.outputs[number].get()
        if let other = output.sameBytesAs, let twin = written[other] {
            try descriptor.write(twin.file.bytes)
            return twin.variant
        }
        try checkTime(limits)
        let drawn = try pictures.draw(number, output)
        let (file, quality) = try encode(drawn, output.encoding, limits)
        guard !file.bytes.isEmpty else {
            throw TranscodeError(.encode, "the \(output.encoding.format.name) came out empty")
        }
        try descriptor.write(file.bytes)
        let variant = TranscodedVariant(
            format: output.encoding.format, width: output.drawing.size.width, height: output.drawing.size.height,
            bytes: file.bytes.count, copied: false, quality: quality, replaced: output.encoding.replaced,
            exceedsMaxBytes: output.encoding.maxBytes.map { file.bytes.count > $0 } ?? false, frames: drawn.frames)
        let isReused = plan.outputs.contains { (try? $0.get())?.sameBytesAs == number }
        if isReused { written[number] = Written(variant: variant, file: file) }
        return variant
    }

    private func checkTime(_ limits: TranscodeLimits) throws(TranscodeError) {
        guard ContinuousClock.now < deadline else {
            throw TranscodeError(.time, "the picture took longer than \(limits.softTime)")
        }
    }

    /// At the quality asked for, or at the highest that keeps to the limit on bytes; the lowest where none does.
    private func encode(
        _ drawn: DrawnVariant, _ encoding: Encoding, _ limits: TranscodeLimits
    ) throws(TranscodeError) -> (EncodedFile, Int?) {
        if givesPixels { return (try pictures.pixels(drawn), nil) }
        guard let maxBytes = encoding.maxBytes, let highest = encoding.quality else {
            return (try pictures.encode(drawn, encoding, quality: encoding.quality, header), encoding.quality)
        }
        var search = QualitySearch(highest: highest)
        var best: (EncodedFile, Int?)?
        while let quality = search.next {
            try checkTime(limits)
            let file = try pictures.encode(drawn, encoding, quality: quality, header)
            let fits = file.bytes.count <= maxBytes
            if fits || search.best == nil { best = (file, quality) }
            search.tell(fits: fits)
        }
        guard let best else { throw TranscodeError(.encode, "the \(encoding.format.name) cannot be written") }
        return best
    }
}
