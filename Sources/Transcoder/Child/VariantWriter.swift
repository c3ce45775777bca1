internal import ImageModel

/// Draws, encodes and writes the outputs of a plan, one after another.
///
/// All are drawn before the first is encoded: the smaller ones are drawn from the larger, but encoded first.
struct VariantWriter {
    private let plan: DecodePlan
    private let image: any DecodedImage
    private let limits: TranscodeLimits
    private let started: Duration
    private let clock: () -> Duration
    private let wantsRawRGBA: Bool
    private var drawn: [Int: Result<any DrawnImage, TranscodeError>] = [:]
    /// Outputs whose bytes other outputs reuse.
    private var written: [Int: (variant: TranscodedVariant, file: EncodedFile)] = [:]

    /// - Parameters:
    ///   - started: when the request began, by `clock`.
    ///   - clock: the processor time of this process.
    init(
        _ plan: DecodePlan, _ image: any DecodedImage, _ request: ChildRequest, started: Duration,
        clock: @escaping () -> Duration = { ProcessorClock.now }
    ) {
        self.plan = plan
        self.image = image
        limits = request.limits
        self.started = started
        self.clock = clock
        wantsRawRGBA = request.wantsRawRGBA
    }

    /// Draws every output that has bytes of its own.
    mutating func drawAll() {
        for number in plan.order {
            guard case .success(let output) = plan.outputs[number], output.sameBytesAs == nil else { continue }
            drawn[number] = draw(number, output)
        }
    }

    private func draw(_ number: Int, _ output: PlannedOutput) -> Result<any DrawnImage, TranscodeError> {
        Result { () throws(TranscodeError) in
            try checkTime()
            do throws(CodecFailure) { return try image.draw(number, output) } catch {
                throw error.as(.transform, "the variant cannot be drawn")
            }
        }
    }

    /// Encodes and writes one output, after the one that has the same bytes.
    ///
    /// - Throws: `TranscodeError` 206, 401, 402, 403, 501.
    mutating func write(_ number: Int, to descriptor: OutputDescriptor) throws(TranscodeError) -> TranscodedVariant {
        let output = try plan.outputs[number].get()
        if let other = output.sameBytesAs, let twin = written[other] {
            try descriptor.write(twin.file.bytes)
            return twin.variant
        }
        // Not yet drawn when the one with the same bytes could not be written.
        let drawn = try (drawn.removeValue(forKey: number) ?? draw(number, output)).get()
        try checkTime()
        try limits.checkTime(plan.outputTimes[number], "the variant", spent: spent)
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

    private var spent: Duration { clock() - started }
    private var hasTime: Bool { spent < limits.softTime }

    private func checkTime() throws(TranscodeError) {
        guard hasTime else { throw TranscodeError(.time, "the image took \(limits.softTime) of processor time") }
    }

    /// Encodes at the requested quality, or at the highest one within the limit on bytes; at the lowest when none is.
    /// When the time is over, the best one found so far counts.
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
            if !hasTime && search.best != nil { break }
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
