package import ImageModel

/// How one picture becomes its variants: decoded once, at the largest size any of them needs, and drawn from there.
///
/// A pure value, so that another way to make the pixels is a choice made here.
package struct DecodePlan: Sendable, Hashable {
    /// What makes the pixels.
    package enum Path: String, Sendable, Hashable, Codable {
        /// libvips decodes, resamples and encodes: for every picture and every variant.
        case libvips
        /// Planes of luma and chroma, as the file has them where it has some, are resampled and encoded, for all variants
        /// or for none.
        case planes
    }

    package let path: Path
    /// libjpeg's shrinking while it decodes: 1, 2, 4 or 8; 1 for every other format.
    package let shrink: Int
    /// Of the planes held in memory, where there are some.
    package let chroma: PlanarPicture.Chroma
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
        let hasFrames = header.isAnimated && header.format != .png && variants.contains(where: \.everyFrame)
        frames = hasFrames ? header.frames : 1
        let planned = PlannedOutput.all(variants, drawings, of: header, writable: writable)
        outputs = planned.outputs
        order = planned.order
        let made = outputs.compactMap { try? $0.get() }
        chroma = made.contains { $0.encoding.chroma == .full } ? .full : .halved
        let byPlanes = Self.shrink(header, to: base, spare: chroma == .full ? 1.3 : 1)
        let byLibvips = Self.shrink(header, to: base, spare: 2)
        let planes = PlanCost(planes: header, shrink: byPlanes, base: base, outputs: made)
        let libvips = PlanCost(header, shrink: byLibvips, base: base, frames: frames, outputs: made)
        let isFit = limits.allowsPlanes && frames == 1 && header.hasPlanes && made.allSatisfy(\.fitsPlanes)
        // Planes are whole pictures, while libvips takes a PNG by strips: what is too large for the one may do for the
        // other.
        path = isFit && planes.memoryBytes <= max(limits.memoryBytes, libvips.memoryBytes) ? .planes : .libvips
        shrink = path == .planes ? byPlanes : byLibvips
        memoryBytes = path == .planes ? planes.memoryBytes : libvips.memoryBytes
        processorTime = path == .planes ? planes.processorTime : libvips.processorTime
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

    /// As far as `spare` times the needed size is left. libvips' path wants twice of it, as `vips_thumbnail` does: the
    /// resampling that follows then hides what libjpeg's coarse one did. That of planes is measured, see
    /// docs/faster-path.md.
    private static func shrink(_ header: SourceHeader, to base: PixelSize, spare: Double) -> Int {
        guard header.format == .jpeg else { return 1 }
        let ratio = min(Double(header.width) / Double(base.width), Double(header.height) / Double(base.height))
        return [8, 4, 2].first { ratio >= spare * Double($0) } ?? 1
    }
}
