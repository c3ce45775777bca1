package import ImageModel

/// The plan for the variants of one image. It is decoded once, at the largest size that any of them needs.
package struct DecodePlan: Sendable, Hashable {
    /// The libraries that decode, resample and encode.
    package enum Path: String, Sendable, Hashable, Codable {
        /// libvips decodes, resamples and encodes. Any image, any variant.
        case libvips
        /// Planes of luma and chroma, or of colours, are resampled, and encoded where a variant's format allows it;
        /// libvips does the rest.
        case planes
    }

    package let path: Path
    /// libjpeg's shrink factor while it decodes: 1, 2, 4 or 8; 1 for every other format.
    package let shrink: Int
    /// The size held in memory, in stored orientation.
    package let base: PixelSize
    /// The chroma of the planes of that size.
    package let chroma: PlanarImage.Chroma
    /// Frames decoded: 1 unless a variant has all of an animation's.
    package let frames: Int
    /// The output of each variant, or the reason why it cannot be made.
    package let outputs: [Result<PlannedOutput, TranscodeError>]
    /// The outputs by size, the largest first: each after the one that it is drawn from.
    package let order: [Int]
    /// The order of making them: what takes the least time is next, so that it is written before the time is over.
    package let encodingOrder: [Int]
    /// The memory it takes beyond that of an idle child, estimated.
    package let memoryBytes: Int
    /// Estimated, of everything.
    package let processorTime: Duration
    /// Estimated for the slowest files of the format.
    package let decodingTime: Duration
    /// Of each output, estimated; nothing for one that cannot be made.
    package let costs: [OutputCost]

    /// A variant that would take far longer or more memory than the limits allow is refused, and the others are planned
    /// without it.
    ///
    /// - Parameter writable: the formats that this machine can write.
    package init(
        _ header: SourceHeader, variants: [Variant], scale: Double, limits: TranscodeLimits,
        writable: Set<ImageFormat>
    ) {
        var drawings = variants.map { variant in
            Result { () throws(TranscodeError) in
                if variant.animation == .frames { try limits.checkFrames(header) }
                return try Drawing(variant, of: header, scale: scale, limits: limits)
            }
        }
        self.init(header, variants, drawings, limits, writable)
        var hasRefused = false
        for (number, time) in outputTimes.enumerated() {
            do throws(TranscodeError) { try limits.checkTime(time, "the variant") } catch {
                drawings[number] = .failure(error)
                hasRefused = true
            }
        }
        if hasRefused { self.init(header, variants, drawings, limits, writable) }
        guard memoryBytes > limits.memoryBytes else { return }
        for (bytes, number) in Self.needs(header, variants, drawings, limits, writable)
        where memoryBytes > limits.memoryBytes {
            // Variants that fit one by one may be too much together.
            let (need, what) =
                bytes > limits.memoryBytes ? (bytes, "the variant needs") : (memoryBytes, "the variants together need")
            do throws(TranscodeError) { try limits.checkMemory(need, what) } catch {
                drawings[number] = .failure(error)
                self.init(header, variants, drawings, limits, writable)
            }
        }
    }

    /// The memory that each variant needs by itself, with decoding: the most first, without those that cannot be made.
    private static func needs(
        _ header: SourceHeader, _ variants: [Variant], _ drawings: [Result<Drawing, TranscodeError>],
        _ limits: TranscodeLimits, _ writable: Set<ImageFormat>
    ) -> [(bytes: Int, number: Int)] {
        var needs: [(bytes: Int, number: Int)] = []
        for (number, drawing) in drawings.enumerated() {
            guard case .success = drawing else { continue }
            let plan = DecodePlan(header, [variants[number]], [drawing], limits, writable)
            needs.append((plan.memoryBytes, number))
        }
        return needs.sorted { ($0.bytes, $0.number) > ($1.bytes, $1.number) }
    }

    private init(
        _ header: SourceHeader, _ variants: [Variant], _ drawings: [Result<Drawing, TranscodeError>],
        _ limits: TranscodeLimits, _ writable: Set<ImageFormat>
    ) {
        base = Self.base(of: header, for: drawings.compactMap { try? $0.get() })
        (outputs, order) = PlannedOutput.all(variants, drawings, of: header, writable: writable)
        let made = outputs.compactMap { try? $0.get() }
        frames = made.contains(where: \.encoding.isAnimated) ? header.frames : 1
        let upright = header.orientation >= 5 ? base.transposed : base
        let isFull = header.hasOwnProfile || made.contains { $0.needsFullChroma(of: upright) }
        chroma = isFull ? .full : .subsampled420
        let libvipsShrink = Self.shrink(header, for: [(upright, 2)])
        let planarShrink = Self.shrink(
            header, for: made.map { ($0.drawing.neededSize, $0.planarHeadroom) } + [(upright, 1)])
        let planes = PlanCost.planes(header, shrink: planarShrink, base: base, outputs: outputs)
        let libvips = PlanCost.libvips(header, shrink: libvipsShrink, base: base, frames: frames, outputs: outputs)
        let isPlanar =
            limits.allowsPlanes && frames == 1 && header.hasPlanes && !made.contains(where: \.encoding.keepICC)
        // Planes are held whole, while libvips reads a PNG in strips and may need less.
        path = isPlanar && planes.memoryBytes <= max(limits.memoryBytes, libvips.memoryBytes) ? .planes : .libvips
        shrink = path == .planes ? planarShrink : libvipsShrink
        let cost = path == .planes ? planes : libvips
        memoryBytes = cost.memoryBytes
        processorTime = cost.processorTime
        decodingTime = cost.decodingTime
        encodingOrder = cost.encodingOrder
        costs = cost.outputs
    }

    /// Nothing is drawn.
    var progress: OutputProgress { OutputProgress(outputs, costs) }

    /// The time that each output would take alone, estimated for the slowest images: drawing it, with what it starts
    /// from, and encoding it once; zero for one that cannot be made.
    package var outputTimes: [Duration] {
        let progress = progress
        return outputs.indices.map { progress.time(for: $0) }
    }

    /// Each side as long as the most demanding variant needs it, never longer than the original's.
    private static func base(of header: SourceHeader, for drawings: [Drawing]) -> PixelSize {
        let full = header.uprightSize
        var need = PixelSize(width: 1, height: 1)
        for needed in drawings.map(\.neededSize) {
            need.width = max(need.width, needed.width)
            need.height = max(need.height, needed.height)
        }
        if drawings.isEmpty { need = Geometry.fitted(full, into: digestBox) ?? full }
        return header.orientation >= 5 ? need.transposed : need
    }

    /// The box that is decoded when no variant is made: enough for the digest.
    private static let digestBox = Variant.Thumbnail(width: 64, height: 64)

    /// The largest shrink factor that leaves every needed size its headroom. libvips gets twice the size, as
    /// `vips_thumbnail` does: its resampling then hides libjpeg's coarse one. docs/faster-path.md has the measurements
    /// for planes.
    ///
    /// - Parameter needed: upright sizes and their headroom.
    private static func shrink(_ header: SourceHeader, for needed: [(size: PixelSize, headroom: Double)]) -> Int {
        guard header.format == .jpeg else { return 1 }
        let full = header.uprightSize
        let ratios = needed.map { size, headroom in
            min(Double(full.width) / Double(size.width), Double(full.height) / Double(size.height)) / headroom
        }
        return [8, 4, 2].first { factor in ratios.allSatisfy { $0 >= Double(factor) } } ?? 1
    }
}
