internal import ImageModel
internal import Transcoder

/// The plan for one image's variants. The image is decoded once, at the largest needed size.
struct DecodePlan: Sendable, Hashable {
    /// The libraries that decode, resample and encode.
    enum Path: String, Sendable, Hashable, Codable {
        /// libvips does everything. Any image, any variant.
        case libvips
        /// Resamples planes, and encodes them if a variant's format allows it; libvips does the rest.
        case planes
    }

    let path: Path
    /// libjpeg's shrink factor: 1, 2, 4 or 8; 1 for other formats.
    let shrink: Int
    /// The decoded size, in stored orientation.
    let base: PixelSize
    /// Chroma of the decoded planes.
    let chroma: PlanarImage.Chroma
    /// Range of the decoded luma and chroma: limited if every output that shows them unscaled is written so.
    let range: PlanarImage.Range
    /// Decoded frames: 1 unless a variant needs all frames.
    let frames: Int
    /// Each variant's output, or why it cannot be made.
    let outputs: [Result<PlannedOutput, TranscodeError>]
    /// Outputs by size, largest first: each after the output that it is drawn from.
    let order: [Int]
    /// The order of encoding: quickest first, so that it is written before the time is over.
    let encodingOrder: [Int]
    /// Estimated memory beyond an idle child's.
    let memoryBytes: Int
    /// Estimated, for everything.
    let processorTime: Duration
    /// Estimated for the format's slowest files.
    let decodingTime: Duration
    /// Estimated per output; zero if it cannot be made.
    let costs: [OutputCost]

    /// Refuses variants that would take far longer or more memory than the limits, and plans the others.
    ///
    /// - Parameter writable: formats that this machine can write.
    init(
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
            // Variants that fit individually may be too much together.
            let (need, what) =
                bytes > limits.memoryBytes ? (bytes, "the variant needs") : (memoryBytes, "the variants together need")
            do throws(TranscodeError) { try limits.checkMemory(need, what) } catch {
                drawings[number] = .failure(error)
                self.init(header, variants, drawings, limits, writable)
            }
        }
    }

    /// Memory that each possible variant needs by itself, including decoding, largest first.
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
        let unscaled = made.filter { $0.start == .base && $0.drawing.neededSize == upright }
        let isLimited = !unscaled.isEmpty && unscaled.allSatisfy { $0.range == .limited }
        range = isLimited && !header.hasPlanesToConvert ? .limited : .full
        let libvipsShrink = Self.shrink(header, for: [(upright, { _ in 2 })])
        let planarShrink = Self.shrink(
            header, for: made.map { ($0.drawing.neededSize, $0.headroom) } + [(upright, { _ in 1 })])
        let planes = PlanCost.planes(header, shrink: planarShrink, base: base, outputs: outputs)
        let libvips = PlanCost.libvips(header, shrink: libvipsShrink, base: base, frames: frames, outputs: outputs)
        let isPlanar =
            limits.allowsPlanes && frames == 1 && header.hasPlanes && !made.contains(where: \.encoding.keepICC)
        // Planes are kept whole, while libvips reads a PNG in strips and may need less.
        path = isPlanar && planes.memoryBytes <= max(limits.memoryBytes, libvips.memoryBytes) ? .planes : .libvips
        shrink = path == .planes ? planarShrink : libvipsShrink
        let cost = path == .planes ? planes : libvips
        memoryBytes = cost.memoryBytes
        processorTime = cost.processorTime
        decodingTime = cost.decodingTime
        encodingOrder = cost.encodingOrder
        costs = cost.outputs
    }

    /// The progress before anything is drawn.
    var progress: OutputProgress { OutputProgress(outputs, costs) }

    /// Estimated time of each output alone, for the slowest images: drawing it and its starts, and encoding it once;
    /// zero if it cannot be made.
    var outputTimes: [Duration] {
        let progress = progress
        return outputs.indices.map { progress.time(for: $0) }
    }

    /// Each side as long as the most demanding variant needs, at most the original's.
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

    /// The decoded size if no variant is made: enough for the digest.
    private static let digestBox = Variant.Thumbnail(width: 64, height: 64)

    /// The largest shrink factor that leaves every needed size its headroom. For libvips that is twice the size, as in
    /// `vips_thumbnail`: its resampling then hides libjpeg's coarse one. Benchmarks/Results/planes.md has the
    /// measurements for planes.
    ///
    /// Only powers of two: libjpeg-turbo has no vector code for other eighths, so 5/8, 6/8 and 7/8 are slower than full
    /// size, and 3/8 slower than 4/8.
    ///
    /// - Parameter needed: upright sizes and their headroom by factor.
    private static func shrink(
        _ header: SourceHeader, for needed: [(size: PixelSize, headroom: (_ factor: Int) -> Double)]
    ) -> Int {
        guard header.format == .jpeg else { return 1 }
        let full = header.uprightSize
        return [8, 4, 2].first { factor in
            needed.allSatisfy { size, headroom in
                min(Double(full.width) / Double(size.width), Double(full.height) / Double(size.height))
                    >= Double(factor) * headroom(factor)
            }
        } ?? 1
    }
}
