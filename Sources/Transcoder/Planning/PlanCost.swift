internal import ImageModel

/// About what a plan costs. The times of codecs and resampling are those of libvips 8.14.1's own program on one core, over one
/// picture of 2 megapixels with noise in it, good to a third; those of the other steps are guesses. For comparing plans.
struct PlanCost {
    let memoryBytes: Int
    let processorTime: Duration

    init(_ header: SourceHeader, shrink: Int, base: PixelSize, frames: Int, outputs: [PlannedOutput]) {
        let stored = header.storedSize.area
        let decodings = outputs.contains { $0.start == .ownProfile } ? 2 : 1
        var memory = Int(Self.decoderBytes(header) * Double(stored))
        if frames > 1 { memory += stored * 4 * frames }
        memory += base.area * 4 * (header.orientation == 1 ? 1 : 2) * frames * decodings
        memory += outputs.map(Self.drawingBytes).max() ?? 0
        // Every picture that others are drawn from is held.
        memory += outputs.reduce(0) { $0 + $1.drawing.size.area * 4 * ($1.encoding.isAnimated ? frames : 1) }
        memoryBytes = memory

        var nanoseconds = Self.decoderTime(header, shrink: shrink) * Double(stored * frames * decodings)
        nanoseconds += Double(stored * frames * decodings) / Double(shrink * shrink) * 12
        for output in outputs where output.sameBytesAs == nil {
            let steps = output.steps.reduce(0.0) { $0 + Self.stepTime($1) }
            let pixels = Double(max(output.drawing.largest, output.drawing.size.area))
            let attempts = output.encoding.maxBytes == nil || output.encoding.quality == nil ? 1.0 : 4.0
            let each =
                steps * pixels
                + Self.encoderTime(output.encoding.format) * Double(output.drawing.size.area) * attempts
            nanoseconds += each * Double(output.encoding.isAnimated ? frames : 1)
        }
        processorTime = .nanoseconds(Int64(nanoseconds) + 1_000_000)
    }

    /// What the path by planes costs: three planes at most of luma's size, whatever the sampling.
    init(planes header: SourceHeader, shrink: Int, base: PixelSize, outputs: [PlannedOutput]) {
        let stored = header.storedSize.area, decoded = stored / (shrink * shrink)
        var memory = Int(Self.decoderBytes(header) * Double(stored)) + decoded * 3
        memory += base.area * 3 * (header.orientation >= 5 ? 2 : 1)
        // An encoder holds the picture's coefficients.
        memory += outputs.map { $0.drawing.size.area * 8 }.max() ?? 0
        memory += outputs.reduce(0) { $0 + $1.drawing.size.area * 3 }
        memoryBytes = memory

        var nanoseconds = Self.decoderTime(header, shrink: shrink) * Double(stored) + Double(decoded) * 3
        for output in outputs where output.sameBytesAs == nil {
            let attempts = output.encoding.maxBytes == nil ? 1.0 : 4.0
            let encoding = Self.encoderTime(output.encoding.format) * attempts
            nanoseconds += (encoding + 3) * Double(output.drawing.size.area)
        }
        processorTime = .nanoseconds(Int64(nanoseconds) + 1_000_000)
    }

    /// Bytes a pixel of the original that its decoder holds.
    private static func decoderBytes(_ header: SourceHeader) -> Double {
        switch header.format {
        // A progressive JPEG holds all its coefficients, whatever the shrinking.
        case .jpeg: header.isInterlaced ? 6 : 0.3
        case .png: header.isInterlaced ? 8 : 0.5
        case .webp: 5
        default: 8
        }
    }

    /// What drawing and encoding one variant holds beside its pixels: copies of a step, and the hungriest encoder.
    private static func drawingBytes(_ output: PlannedOutput) -> Int {
        output.drawing.largest * (output.steps.count > 1 ? 24 : 4) + output.drawing.size.area * 8
    }

    /// Nanoseconds a pixel of the original.
    private static func decoderTime(_ header: SourceHeader, shrink: Int) -> Double {
        switch header.format {
        case .jpeg: (header.isInterlaced ? 8 : 4) + 6 / Double(shrink)
        case .png: 19
        case .webp: 28
        case .gif: 8
        case .heic, .heif: 55
        default: 21
        }
    }

    /// Nanoseconds a pixel of the step's picture.
    private static func stepTime(_ step: DrawStep) -> Double {
        switch step {
        case .scale: 20
        case .crop, .place, .clear, .mirror, .quarters: 2
        case .turn: 130
        case .round: 10
        case .tint: 30
        case .blur: 60
        case .filter: 40
        }
    }

    /// Nanoseconds a pixel written.
    private static func encoderTime(_ format: ImageFormat) -> Double {
        switch format {
        case .jpeg: 12
        case .webp: 100
        case .avif: 100
        case .heic, .heif: 3000
        // Looking for 256 colours costs most.
        case .gif: 2500
        default: 110
        }
    }
}
