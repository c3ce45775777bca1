/// How one picture becomes its variants: decoded once, at the largest size any of them needs, and drawn from there.
///
/// A pure value, so that another way to make the pixels is a choice made here.
package struct DecodePlan: Sendable, Hashable {
    /// What makes the pixels.
    package enum Path: String, Sendable, Hashable, Codable {
        /// libvips decodes, resamples and encodes: for every picture and every variant.
        case libvips
    }

    package let path = Path.libvips
    /// libjpeg's shrinking while it decodes: 1, 2, 4 or 8; 1 for every other format.
    package let shrink: Int
    /// The size held in memory, in stored orientation.
    package let base: PixelSize
    /// Frames decoded: 1 but where a variant has all of an animation's.
    package let frames: Int
    /// What to do for each variant, or why it cannot be had.
    package let outputs: [Result<PlannedOutput, TranscodeError>]
    /// The order of making them: none before what it is drawn from.
    package let order: [Int]
    /// About the memory it takes beyond that of an idle child.
    package let memoryBytes: Int
    /// About the processor time it takes.
    package let processorTime: Duration

    /// - Parameter writable: the formats this machine can write.
    package init(
        _ header: SourceHeader, variants: [Variant], scale: Double, limits: TranscodeLimits,
        writable: Set<ImageFormat>
    ) {
        let drawings = variants.map { variant in
            Result { () throws(TranscodeError) in
                try Drawing(variant, of: header, scale: scale, limits: limits)
            }
        }
        let wanted = drawings.compactMap { try? $0.get() }
        base = Self.base(of: header, for: wanted)
        shrink = header.format == .jpeg ? Self.shrink(from: header.storedSize, to: base) : 1
        let hasFrames = header.isAnimated && header.format != .png && variants.contains(where: \.everyFrame)
        frames = hasFrames ? header.frames : 1
        let planned = PlannedOutput.all(variants, drawings, of: header, writable: writable)
        outputs = planned.outputs
        order = planned.order
        let made = outputs.compactMap { try? $0.get() }
        let cost = PlanCost(header, shrink: shrink, base: base, frames: frames, outputs: made)
        memoryBytes = cost.memoryBytes
        processorTime = cost.processorTime
    }

    /// Each side as long as the most demanding variant needs it, never longer than the original's.
    private static func base(of header: SourceHeader, for drawings: [Drawing]) -> PixelSize {
        let full = header.uprightSize
        var need = PixelSize(width: 1, height: 1)
        for drawing in drawings {
            // Where one side grows and the other shrinks, both are resampled in one step, from every pixel.
            let grows = drawing.firstScale.map { $0.width > full.width || $0.height > full.height } ?? true
            let first = grows ? full : drawing.firstScale ?? full
            need.width = min(full.width, max(need.width, first.width))
            need.height = min(full.height, max(need.height, first.height))
        }
        if drawings.isEmpty {
            let box = Variant.Thumbnail(width: Double(leastSide), height: Double(leastSide))
            need = Geometry.thumbnail(stored: full, box: box) ?? full
        }
        return header.orientation >= 5 ? need.turned : need
    }

    /// The box of what is decoded where no variant is: enough for the digest.
    private static let leastSide = 64

    /// As far as at least twice the needed size is left, as `vips_thumbnail` has it: the resampling that follows then
    /// hides what libjpeg's coarse one did.
    private static func shrink(from stored: PixelSize, to base: PixelSize) -> Int {
        let ratio = min(
            Double(stored.width) / Double(base.width), Double(stored.height) / Double(base.height))
        return [8, 4, 2].first { ratio >= Double(2 * $0) } ?? 1
    }
}
