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
    /// The processor time of drawing and encoding so far.
    private(set) var codecTime = Duration.zero
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

    private mutating func draw(_ number: Int, _ output: PlannedOutput) -> Result<any DrawnImage, TranscodeError> {
        let began = clock()
        defer { codecTime += clock() - began }
        return Result { () throws(TranscodeError) in
            try limits.checkSoftTime(spent)
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
        try limits.checkSoftTime(spent)
        try limits.checkTime(plan.outputTimes[number], "the variant", spent: spent)
        let found = try encode(drawn, output)
        let (file, encoding) = (found.file, found.encoding)
        guard !file.bytes.isEmpty else {
            throw TranscodeError(.encode, "the \(encoding.format.name) encoder wrote nothing")
        }
        try descriptor.write(file.bytes)
        let size = drawn.size
        let variant = TranscodedVariant(
            format: encoding.format, width: size.width, height: size.height, bytes: file.bytes.count, copied: false,
            quality: found.quality, ssim: found.ssim, replaced: encoding.replaced,
            exceedsMaxBytes: encoding.maxBytes.map { file.bytes.count > $0 } ?? false, frames: drawn.frames)
        let isReused = plan.outputs.contains { (try? $0.get())?.sameBytesAs == number }
        if isReused { written[number] = (variant, file) }
        return variant
    }

    private mutating func encode(
        _ drawn: any DrawnImage, _ output: PlannedOutput
    ) throws(TranscodeError) -> FileSearch.Found {
        let began = clock()
        defer { codecTime += clock() - began }
        let search = FileSearch(drawn, output, limits) { [clock, started] in clock() - started }
        return try wantsRawRGBA ? search.rawRGBA() : search.file()
    }

    private var spent: Duration { clock() - started }
}
