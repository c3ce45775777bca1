internal import ImageModel
internal import Transcoder

/// A plan's estimated cost, for comparing plans and refusing work over a limit. Times of codecs and resampling are
/// measured, see `ImageFormat.DecodeCost`; other steps are rough estimates.
struct PlanCost {
    let memoryBytes: Int
    /// Decoding and resampling to the decoded size, for the format's slowest files.
    let decodingTime: Duration
    /// Zero for an output that cannot be made.
    let outputs: [OutputCost]
    /// The total, including every attempt at a byte limit.
    let processorTime: Duration
    /// Outputs, quickest first, including drawing. Outputs with the same bytes follow.
    let encodingOrder: [Int]

    /// - Parameters:
    ///   - memory: held from decoding on.
    ///   - decoding: nanoseconds.
    private init(
        memory: Int, decoding: Double, margin: Double, _ outputs: [Result<PlannedOutput, TranscodeError>],
        time cost: (PlannedOutput) -> OutputCost, bytes: (PlannedOutput) -> OutputBytes
    ) {
        let made = outputs.map { try? $0.get() }
        let costs = made.map { $0.map(cost) ?? OutputCost() }
        var progress = OutputProgress(outputs, costs), order: [Int] = [], nanoseconds = decoding
        var held = HeldBytes(made.map { $0.map(bytes) ?? OutputBytes() })
        var left = made.indices.filter { made[$0].map { $0.sameBytesAs == nil } ?? false }
        func time(_ number: Int) -> (Double, Int) { (progress.usualNanoseconds(for: number), number) }
        while let next = left.min(by: { time($0) < time($1) }) {
            left.removeAll { $0 == next }
            order += [next] + made.indices.filter { made[$0]?.sameBytesAs == next }
            nanoseconds += progress.usualNanoseconds(for: next)
            held.make(next, &progress)
        }
        decodingTime = .nanoseconds(Int64(decoding * margin))
        processorTime = .nanoseconds(Int64(nanoseconds) + 1_000_000)
        memoryBytes = memory + held.most
        encodingOrder = order
        self.outputs = costs
    }

    /// Minimum time to decode a frame.
    private static let frameNanoseconds = 100_000.0

    static func libvips(
        _ header: SourceHeader, shrink: Int, base: PixelSize, frames: Int,
        outputs: [Result<PlannedOutput, TranscodeError>]
    ) -> PlanCost {
        let stored = header.storedSize.area, made = outputs.compactMap { try? $0.get() }
        let decodings = made.contains { $0.start == .ownProfile } ? 2 : 1
        var memory = Int(header.decoderBytes * Double(stored))
        // Composed frames are shrunk one by one: a canvas, its part before a frame, and the copies of a frame.
        if frames > 1 { memory += stored * 4 * (header.format.frames == .composed ? 6 : frames) }
        memory += base.area * 4 * (header.orientation == 1 ? 1 : 2) * frames * decodings
        memory += made.watermarkBytes

        let decoded = Double(stored * frames * decodings)
        var nanoseconds = decoded * header.decoderNanoseconds(shrink: shrink, frames: frames)
        nanoseconds += decoded / Double(shrink * shrink) * 12
        if frames > 1 { nanoseconds += Double(frames) * frameNanoseconds }
        let margin = header.format.decoding.margin
        return PlanCost(memory: memory, decoding: nanoseconds, margin: margin, outputs) { output in
            let count = Double(output.encoding.isAnimated ? frames : 1)
            let perFrame = count > 1 ? output.encoding.frameNanoseconds * count : 0
            return output.cost(
                drawing: output.nanoseconds(of: output.steps[...]) * count,
                encoding: output.encoderNanoseconds * Double(output.drawing.size.area) * count + perFrame)
        } bytes: { output in
            // A trimmed image is a view of the decoded image.
            OutputBytes(
                pixels: output.drawing.size.area * 4 * (output.encoding.isAnimated ? frames : 1),
                steps: output.drawing.largest * (output.steps.count > 1 ? 24 : 4), encoder: output.encoderBytes,
                isForDigest: output.showsWholeImage)
        }
    }

    /// The cost with planes: at most three of luma's size, whatever the subsampling, and pixels for libvips.
    static func planes(
        _ header: SourceHeader, shrink: Int, base: PixelSize, outputs: [Result<PlannedOutput, TranscodeError>]
    ) -> PlanCost {
        let stored = header.storedSize.area, decoded = stored / (shrink * shrink)
        let planes = header.hasAlpha || header.hasOwnProfile ? 4 : 3
        var memory = Int(header.decoderBytes * Double(stored)) + decoded * planes
        memory += base.area * planes * (header.orientation >= 5 ? 2 : 1)
        memory += outputs.compactMap { try? $0.get() }.watermarkBytes

        let margin = header.format.decoding.margin
        let nanoseconds = header.decoderNanoseconds(shrink: shrink, frames: 1) * Double(stored) + Double(decoded) * 3
        return PlanCost(memory: memory, decoding: nanoseconds, margin: margin, outputs) { output in
            let pixels = Double(output.drawing.size.area)
            return output.cost(
                drawing: 3 * pixels + (output.steps.isEmpty ? 0 : output.nanoseconds(of: output.stepsOnPixels)),
                encoding: output.encoderNanoseconds * pixels)
        } bytes: { output in
            let area = output.drawing.size.area
            var bytes = OutputBytes(
                pixels: area * 4, encoder: output.encoderBytes, isForDigest: output.showsWholeImage)
            guard !output.isPlanar else { return bytes }
            // As planes and as pixels.
            bytes.pixels = area * 8
            bytes.steps = output.drawing.largest * (output.stepsOnPixels.isEmpty ? 10 : 24)
            if output.drawing.trimming != nil {
                // Full chroma, and RGB.
                (bytes.untrimmed, bytes.untrimmedSource) = (base.area * 4, base.area * 8)
            }
            return bytes
        }
    }
}

/// One output's estimated processor time, in nanoseconds.
struct OutputCost: Sendable, Hashable {
    /// Trimming, done once for all outputs with the same border.
    var trimming = 0.0
    /// The steps from its start.
    var drawing = 0.0
    /// One file per format, for the slowest images.
    var slowestEncoding = 0.0
    /// All tried files.
    var encodings = 0.0
}

extension SourceHeader {
    /// The decoder's bytes per pixel.
    fileprivate var decoderBytes: Double {
        let cost = format.decoding
        return isInterlaced ? cost.interlacedBytes ?? cost.bytes : cost.bytes
    }

    fileprivate func decoderNanoseconds(shrink: Int, frames: Int) -> Double {
        let cost = format.decoding
        if frames > 1, let animated = cost.animatedNanoseconds { return animated }
        let fixed = isInterlaced ? cost.interlacedNanoseconds ?? cost.nanoseconds : cost.nanoseconds
        return fixed + cost.shrinkableNanoseconds / Double(shrink)
    }
}

extension PlannedOutput {
    /// The cost of trimming (unless it starts from another output), the other steps, and an encoder.
    fileprivate func cost(drawing: Double, encoding: Double) -> OutputCost {
        // Proportionally, as frames have an additional cost.
        let attempts = searchNanoseconds / max(encoderNanoseconds, 0.001)
        return OutputCost(
            trimming: trimmingNanoseconds, drawing: drawing,
            slowestEncoding: encoding * self.encoding.margin, encodings: encoding * attempts)
    }

    /// The time of trimming, for the whole decoded image.
    private var trimmingNanoseconds: Double {
        guard case .trim? = steps.first else { return 0 }
        return drawing.steps[0].nanoseconds * Double(drawing.original.area)
    }

    /// The time of the steps except trimming.
    fileprivate func nanoseconds(of steps: ArraySlice<DrawStep>) -> Double {
        steps.reduce(0) { sum, step in
            if case .trim = step { return sum }
            let pixels = Double(max(drawing.largest, drawing.size.area))
            // The colours under transparency are blurred first.
            if case .sharpen = step, drawing.hasAlpha { return sum + 2 * step.nanoseconds * pixels }
            return sum + step.nanoseconds * pixels
        }
    }

    /// Per pixel, each format written once.
    fileprivate var encoderNanoseconds: Double { encoding.all.reduce(0) { $0 + $1.nanoseconds } }

    /// Per pixel, with every tried file.
    fileprivate var searchNanoseconds: Double { encoding.all.reduce(0) { $0 + $1.searchNanoseconds } }

    /// Memory that the encoder takes.
    fileprivate var encoderBytes: Int {
        drawing.size.area * encoding.all.reduce(0) { max($0, $1.bytesPerPixel) }
    }
}

extension [PlannedOutput] {
    fileprivate var watermarkBytes: Int {
        Set<String>(flatMap(\.drawing.watermarks)).count * WatermarkImages.maxBytes
    }
}

/// One output's memory in bytes.
struct OutputBytes {
    var pixels = 0
    /// Copies made by its steps, until it is encoded.
    var steps = 0
    var encoder = 0
    /// Whether its pixels may be kept for the digest.
    var isForDigest = false
    /// The pixels to trim, and the memory to make them; the same for all outputs.
    var untrimmed = 0, untrimmedSource = 0
}

/// Peak memory while outputs are made one after another.
struct HeldBytes {
    private let outputs: [OutputBytes]
    private(set) var most = 0
    /// The smallest drawn output that may be kept for the digest.
    private var digest: Int?
    private var untrimmed = 0

    init(_ outputs: [OutputBytes]) { self.outputs = outputs }

    /// Draws an output and its starts, encodes it, and releases what no other output needs.
    mutating func make(_ number: Int, _ progress: inout OutputProgress) {
        for next in progress.drawings(for: number) {
            let bytes = outputs[next]
            if progress.trims(next), untrimmed == 0 {
                untrimmed = bytes.untrimmed
                hold(bytes.untrimmedSource, progress)
            }
            progress.draw(next)
            hold(bytes.steps, progress)
            if bytes.isForDigest, digest.map({ outputs[$0].pixels > bytes.pixels }) ?? true { digest = next }
        }
        hold(outputs[number].steps + outputs[number].encoder, progress)
        progress.finish(number)
        if !progress.needsTrimming { untrimmed = 0 }
    }

    /// Records the held memory plus `bytes`.
    private mutating func hold(_ bytes: Int, _ progress: OutputProgress) {
        var held = progress.held
        if let digest { held.insert(digest) }
        most = max(most, untrimmed + bytes + held.reduce(0) { $0 + outputs[$1].pixels })
    }
}
