internal import ImageModel
internal import Transcoder

/// Draws, encodes and writes a plan's outputs one after another.
///
/// An output is drawn immediately before it is encoded, after the output that it starts from. So quick outputs are
/// written before anything else is drawn, and pixels are kept only while needed.
struct VariantWriter {
    private let plan: DecodePlan
    private let image: any DecodedImage
    private let limits: TranscodeLimits
    private let started: Duration
    private let clock: () -> Duration
    private let wantsRawRGBA: Bool
    private var progress: OutputProgress
    /// Processor time of drawing and encoding so far.
    private(set) var codecTime = Duration.zero
    /// Outputs that a library failed to draw, perhaps for lack of memory.
    private(set) var failedDrawings: Set<Int> = []
    /// Outputs drawn early because others start from them.
    private var drawn: [Int: Result<any DrawnImage, TranscodeError>] = [:]
    /// Outputs whose bytes other outputs reuse.
    private var written: [Int: (variant: TranscodedVariant, file: EncodedFile)] = [:]

    /// - Parameters:
    ///   - started: when the request began, by `clock`.
    ///   - clock: this process's processor time.
    init(
        _ plan: DecodePlan, _ image: any DecodedImage, _ limits: TranscodeLimits, wantsRawRGBA: Bool = false,
        started: Duration, clock: @escaping () -> Duration = { ProcessorClock.now }
    ) {
        self.plan = plan
        self.image = image
        progress = plan.progress
        self.limits = limits
        self.started = started
        self.clock = clock
        self.wantsRawRGBA = wantsRawRGBA
    }

    /// Draws, encodes and writes one output, after the output with the same bytes.
    ///
    /// - Throws: `TranscodeError` 206, 401, 402, 403, 501.
    mutating func write(_ number: Int, to descriptor: OutputDescriptor) throws(TranscodeError) -> TranscodedVariant {
        defer { finish(number) }
        let output = try plan.outputs[number].get()
        if let other = output.sameBytesAs, let twin = written[other] {
            try descriptor.write(twin.file.bytes)
            return twin.variant
        }
        try limits.checkSoftTime(spent)
        try checkTime(number)
        for next in progress.drawings(for: number) { draw(next) }
        guard let drawn = try drawn.removeValue(forKey: number)?.get() else {
            throw TranscodeError(.transform, "the variant was drawn already")
        }
        // Drawing may have taken longer than estimated.
        try checkTime(number)
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

    /// Checks that there is time for the remaining work of an output.
    private func checkTime(_ number: Int) throws(TranscodeError) {
        try limits.checkTime(progress.time(for: number), "the variant", spent: spent)
    }

    private mutating func draw(_ number: Int) {
        let began = clock()
        do throws(TranscodeError) {
            let output = try plan.outputs[number].get()
            do throws(CodecFailure) { drawn[number] = .success(try image.draw(number, output)) } catch {
                if !error.isByRule { failedDrawings.insert(number) }
                throw error.as(.transform, "the variant cannot be drawn")
            }
        } catch {
            drawn[number] = .failure(error)
        }
        progress.draw(number)
        codecTime += clock() - began
    }

    /// Releases what no other output needs.
    private mutating func finish(_ number: Int) {
        progress.finish(number)
        let held = progress.held
        drawn = drawn.filter { held.contains($0.key) }
        image.forget(allBut: progress)
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
