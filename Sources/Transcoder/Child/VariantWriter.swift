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
        let (file, quality, ssim) = try encode(drawn, output)
        guard !file.bytes.isEmpty else {
            throw TranscodeError(.encode, "the \(output.encoding.format.name) encoder wrote nothing")
        }
        try descriptor.write(file.bytes)
        let size = output.drawing.size
        let variant = TranscodedVariant(
            format: output.encoding.format, width: size.width, height: size.height, bytes: file.bytes.count,
            copied: false, quality: quality, ssim: ssim, replaced: output.encoding.replaced,
            exceedsMaxBytes: output.encoding.maxBytes.map { file.bytes.count > $0 } ?? false, frames: drawn.frames)
        let isReused = plan.outputs.contains { (try? $0.get())?.sameBytesAs == number }
        if isReused { written[number] = (variant, file) }
        return variant
    }

    private var spent: Duration { clock() - started }
    private var hasTime: Bool { spent < limits.softTime }

    /// What an output is written as.
    private typealias Encoded = (file: EncodedFile, quality: Int?, ssim: Double?)

    private func checkTime() throws(TranscodeError) {
        guard hasTime else { throw TranscodeError(.time, "the image took \(limits.softTime) of processor time") }
    }

    /// Encodes at the requested quality, at the highest one within a limit on bytes, or at the lowest one of a
    /// similarity.
    private func encode(_ drawn: any DrawnImage, _ output: PlannedOutput) throws(TranscodeError) -> Encoded {
        let encoding = output.encoding
        if wantsRawRGBA { return (try attempt(drawn, encoding, nil), nil, nil) }
        guard let highest = encoding.quality else { return (try attempt(drawn, encoding, nil), nil, nil) }
        if let maxBytes = encoding.maxBytes {
            return try search(drawn, encoding, highest: highest, isRising: true) { ($0.bytes.count <= maxBytes, nil) }
        }
        guard let wanted = encoding.ssim else { return (try attempt(drawn, encoding, highest), highest, nil) }
        let similarity: FileSimilarity
        do throws(CodecFailure) { similarity = try FileSimilarity(drawn, output.drawing.size, encoding) } catch {
            throw error.as(.encode, "the variant cannot be compared")
        }
        return try search(drawn, encoding, highest: highest, isRising: false) { (file) throws(CodecFailure) in
            let value = try similarity.value(file)
            return (value >= wanted, value)
        }
    }

    /// Tries qualities up to `highest`: for the highest one that fits, else the lowest, when fitting ends with rising
    /// quality; for the lowest one that fits, else the highest, when it begins. When the time is over, or would be after
    /// one more attempt, or an attempt fails, the best one found so far counts.
    private func search(
        _ drawn: any DrawnImage, _ encoding: Encoding, highest: Int, isRising: Bool,
        _ measure: (EncodedFile) throws(CodecFailure) -> (fits: Bool, ssim: Double?)
    ) throws(TranscodeError) -> Encoded {
        var search = QualitySearch(highest: highest), longest = Duration.zero
        var best: Encoded?
        while let step = search.next {
            if search.best != nil && (!hasTime || spent + longest > limits.hardTime) { break }
            try checkTime()
            let quality = isRising ? step : max(1, highest) + 1 - step, before = spent
            let made: Encoded, fits: Bool
            do throws(TranscodeError) {
                let file = try attempt(drawn, encoding, quality)
                let measured: (fits: Bool, ssim: Double?)
                do throws(CodecFailure) { measured = try measure(file) } catch {
                    throw error.as(.encode, "the \(encoding.format.name) cannot be compared")
                }
                (made, fits) = ((file, quality, measured.ssim), measured.fits)
            } catch {
                if search.best == nil { throw error }
                break
            }
            longest = max(longest, spent - before)
            if fits || search.best == nil { best = made }
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
