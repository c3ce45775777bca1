internal import ImageModel

/// The estimated cost of a plan, by which plans are compared, and work is refused that would pass a limit. The times of
/// codecs and resampling are measured, see `ImageFormat.DecodeCost`; those of other steps are rough estimates.
struct PlanCost {
    let memoryBytes: Int
    /// Decoding and resampling to the size held in memory, for the slowest files of the format.
    let decodingTime: Duration
    /// Drawing and encoding of each output once, for the slowest images.
    let outputTimes: [Duration]
    /// All of it, with every attempt at a limit on bytes.
    let processorTime: Duration

    private init(
        memoryBytes: Int, decoding: Double, margin: Double, _ outputs: [PlannedOutput],
        _ cost: (PlannedOutput) -> OutputCost
    ) {
        self.memoryBytes = memoryBytes
        decodingTime = .nanoseconds(Int64(decoding * margin))
        let costs = outputs.map(cost)
        outputTimes = zip(costs, outputs).map {
            .nanoseconds(Int64($0.drawing + $0.encoding * $1.encoding.margin))
        }
        let sum = zip(costs, outputs).reduce(decoding) { sum, output in
            guard output.1.sameBytesAs == nil else { return sum }
            // In proportion, as frames have a cost of their own.
            let attempts = output.1.searchNanoseconds / max(output.1.encoderNanoseconds, 0.001)
            return sum + output.0.drawing + output.0.encoding * attempts
        }
        processorTime = .nanoseconds(Int64(sum) + 1_000_000)
    }

    /// Nanoseconds.
    private struct OutputCost {
        let drawing, encoding: Double
    }

    /// What decoding a frame costs however small it is.
    private static let frameNanoseconds = 100_000.0

    /// The cost with libvips.
    static func libvips(
        _ header: SourceHeader, shrink: Int, base: PixelSize, frames: Int, outputs: [PlannedOutput]
    ) -> PlanCost {
        let stored = header.storedSize.area
        let decodings = outputs.contains { $0.start == .ownProfile } ? 2 : 1
        var memory = Int(header.decoderBytes * Double(stored))
        // Frames that are composed are shrunk one by one: a canvas, its part before a frame, and the copies of a frame.
        if frames > 1 { memory += stored * 4 * (header.format.frames == .composed ? 6 : frames) }
        memory += base.area * 4 * (header.orientation == 1 ? 1 : 2) * frames * decodings
        // Copies of a step, and the encoder that takes most.
        memory +=
            outputs.map { $0.drawing.largest * ($0.steps.count > 1 ? 24 : 4) + $0.encoderBytes }.max() ?? 0
        memory += Set(outputs.flatMap(\.drawing.watermarks)).count * WatermarkImages.maxBytes
        // An image from which others are drawn is held.
        memory += outputs.reduce(0) { $0 + $1.drawing.size.area * 4 * ($1.encoding.isAnimated ? frames : 1) }

        let decoded = Double(stored * frames * decodings)
        var nanoseconds = decoded * header.decoderNanoseconds(shrink: shrink, frames: frames)
        nanoseconds += decoded / Double(shrink * shrink) * 12
        if frames > 1 { nanoseconds += Double(frames) * frameNanoseconds }
        let margin = header.format.decoding.margin
        return PlanCost(memoryBytes: memory, decoding: nanoseconds, margin: margin, outputs) { output in
            let count = Double(output.encoding.isAnimated ? frames : 1)
            return OutputCost(
                drawing: output.nanoseconds(of: output.steps[...]) * count,
                encoding: output.encoderNanoseconds * Double(output.drawing.size.area) * count
                    + (count > 1 ? output.encoding.frameNanoseconds * count : 0))
        }
    }

    /// The cost with planes: at most three of luma's size, whatever the subsampling, and pixels for libvips.
    static func planes(_ header: SourceHeader, shrink: Int, base: PixelSize, outputs: [PlannedOutput]) -> PlanCost {
        let stored = header.storedSize.area, decoded = stored / (shrink * shrink)
        let planes = header.hasAlpha || header.hasOwnProfile ? 4 : 3
        var memory = Int(header.decoderBytes * Double(stored)) + decoded * planes
        memory += base.area * planes * (header.orientation >= 5 ? 2 : 1)
        // An encoder holds the image's coefficients.
        memory +=
            outputs.map { output in
                let copies = output.isPlanar ? 0 : output.drawing.largest * (output.stepsOnPixels.isEmpty ? 10 : 24)
                // A border is cut from the pixels of the whole image.
                let whole = output.drawing.trimming == nil ? 0 : output.drawing.original.area * 12
                return output.encoderBytes + copies + whole
            }.max() ?? 0
        memory += outputs.reduce(0) { $0 + $1.drawing.size.area * 4 }

        let margin = header.format.decoding.margin
        let nanoseconds = header.decoderNanoseconds(shrink: shrink, frames: 1) * Double(stored) + Double(decoded) * 3
        return PlanCost(memoryBytes: memory, decoding: nanoseconds, margin: margin, outputs) { output in
            let pixels = Double(output.drawing.size.area)
            return OutputCost(
                drawing: 3 * pixels + output.nanoseconds(of: output.stepsOnPixels),
                encoding: output.encoderNanoseconds * pixels)
        }
    }
}

extension SourceHeader {
    /// Bytes that the decoder holds for each pixel.
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
    /// These outputs with the cheapest encoding first; those with another one's bytes follow it.
    static func encodingOrder(_ order: [Int], _ outputs: [Result<PlannedOutput, TranscodeError>]) -> [Int] {
        func cost(_ number: Int) -> (Double, Int, Int) {
            guard case .success(let output) = outputs[number] else { return (0, 0, number) }
            if let other = output.sameBytesAs { return (cost(other).0, other, number) }
            return (output.searchNanoseconds * Double(output.drawing.size.area), number, -1)
        }
        return order.sorted { cost($0) < cost($1) }
    }

    /// The time of steps.
    fileprivate func nanoseconds(of steps: ArraySlice<DrawStep>) -> Double {
        steps.reduce(0) { sum, step in
            if case .trim = step { return sum + step.nanoseconds * Double(drawing.original.area) }
            return sum + step.nanoseconds * Double(max(drawing.largest, drawing.size.area))
        }
    }

    /// For each pixel, each format written once.
    fileprivate var encoderNanoseconds: Double { encoding.all.reduce(0) { $0 + $1.nanoseconds } }

    /// For each pixel, with every file that is tried.
    fileprivate var searchNanoseconds: Double { encoding.all.reduce(0) { $0 + $1.searchNanoseconds } }

    /// Memory that the encoder takes.
    fileprivate var encoderBytes: Int {
        drawing.size.area * encoding.all.reduce(0) { max($0, $1.bytesPerPixel) }
    }
}
