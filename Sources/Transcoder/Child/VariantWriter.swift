internal import ImageModel

/// Draws, encodes and writes the outputs of a plan, one after another.
struct VariantWriter {
    private let plan: DecodePlan
    private let image: any DecodedImage
    private let limits: TranscodeLimits
    private let deadline: ContinuousClock.Instant
    private let wantsRawRGBA: Bool
    /// Outputs whose bytes other outputs reuse.
    private var written: [Int: (variant: TranscodedVariant, file: EncodedFile)] = [:]

    /// - Parameter start: when the first stage of the request began.
    init(_ plan: DecodePlan, _ image: any DecodedImage, _ request: ChildRequest, start: ContinuousClock.Instant) {
        self.plan = plan
        self.image = image
        limits = request.limits
        deadline = start + request.limits.softTime
        wantsRawRGBA = request.wantsRawRGBA
    }

    /// Makes one output. Those that it starts from or has the bytes of must have been made before.
    ///
    /// - Throws: `TranscodeError` 206, 401, 402, 403, 501.
    mutating func write(_ number: Int, to descriptor: OutputDescriptor) throws(TranscodeError) -> TranscodedVariant {
        let output = try plan.outputs[number].get()
        if let other = output.sameBytesAs, let twin = written[other] {
            try descriptor.write(twin.file.bytes)
            return twin.variant
        }
        try checkTime()
        let drawn = try draw(number, output)
        let (file, quality) = try encode(drawn, output.encoding)
        guard !file.bytes.isEmpty else {
            throw TranscodeError(.encode, "the \(output.encoding.format.name) encoder wrote nothing")
        }
        try descriptor.write(file.bytes)
        let size = output.drawing.size
        let variant = TranscodedVariant(
            format: output.encoding.format, width: size.width, height: size.height, bytes: file.bytes.count,
            copied: false, quality: quality, replaced: output.encoding.replaced,
            exceedsMaxBytes: output.encoding.maxBytes.map { file.bytes.count > $0 } ?? false, frames: drawn.frames)
        let isReused = plan.outputs.contains { (try? $0.get())?.sameBytesAs == number }
        if isReused { written[number] = (variant, file) }
        return variant
    }

    private func checkTime() throws(TranscodeError) {
        guard ContinuousClock.now < deadline else {
            throw TranscodeError(.time, "the image took longer than \(limits.softTime)")
        }
    }

    private func draw(_ number: Int, _ output: PlannedOutput) throws(TranscodeError) -> any DrawnImage {
        do throws(CodecFailure) { return try image.draw(number, output) } catch {
            throw error.as(.transform, "the variant cannot be drawn")
        }
    }

    /// Encodes at the requested quality, or at the highest one within the limit on bytes; at the lowest when none is.
    private func encode(
        _ drawn: any DrawnImage, _ encoding: Encoding
    ) throws(TranscodeError) -> (EncodedFile, quality: Int?) {
        if wantsRawRGBA { return (try attempt(drawn, encoding, nil), nil) }
        guard let maxBytes = encoding.maxBytes, let highest = encoding.quality else {
            return (try attempt(drawn, encoding, encoding.quality), encoding.quality)
        }
        var search = QualitySearch(highest: highest)
        var best: (EncodedFile, quality: Int?)?
        while let quality = search.next {
            try checkTime()
            let file = try attempt(drawn, encoding, quality)
            let fits = file.bytes.count <= maxBytes
            if fits || search.best == nil { best = (file, quality) }
            search.record(fits: fits)
        }
        guard let best else { throw TranscodeError(.encode, "no quality was tried") }
        return best
    }

    private func attempt(
        _ drawn: any DrawnImage, _ encoding: Encoding, _ quality: Int?
    ) throws(TranscodeError) -> EncodedFile {
        do throws(CodecFailure) {
            return wantsRawRGBA ? try drawn.rawRGBA() : try drawn.encoded(encoding, quality: quality)
        } catch {
            throw error.as(.encode, "the \(encoding.format.name) cannot be written")
        }
    }
}
