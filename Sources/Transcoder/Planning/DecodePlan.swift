/// How one picture becomes its variants: decoded once, at the largest size any of them needs, and each drawn from there.
///
/// A pure value, so that another way to make the pixels is a choice made here.
package struct DecodePlan: Sendable, Hashable {
    /// libjpeg's shrinking while it decodes: 1, 2, 4 or 8; 1 for every other format.
    package let shrink: Int
    /// The size held in memory, in stored orientation.
    package let base: PixelSize
    /// What to draw for each variant, or why it cannot be had.
    package let drawings: [Result<Drawing, TranscodeError>]
    /// About the memory it takes beyond that of an idle child.
    package let memoryBytes: Int

    package init(_ header: SourceHeader, variants: [Variant], scale: Double, limits: TranscodeLimits) {
        drawings = variants.map { variant in
            Result { () throws(TranscodeError) in
                try Drawing(variant, of: header, scale: scale, limits: limits)
            }
        }
        let wanted = drawings.compactMap { try? $0.get() }
        base = Self.base(of: header, for: wanted)
        shrink = header.format == .jpeg ? Self.shrink(from: header.storedSize, to: base) : 1
        memoryBytes = Self.memory(header, shrink: shrink, base: base, for: wanted)
    }

    /// Each side as long as the most demanding variant needs it, never longer than the original's.
    private static func base(of header: SourceHeader, for drawings: [Drawing]) -> PixelSize {
        let full = header.uprightSize
        var need = PixelSize(width: 1, height: 1)
        for drawing in drawings {
            let first = drawing.firstScale ?? full
            need.width = min(full.width, max(need.width, first.width))
            need.height = min(full.height, max(need.height, first.height))
        }
        return header.orientation >= 5 ? need.turned : need
    }

    /// As far as at least twice the needed size is left, as `vips_thumbnail` has it: the resampling that follows then
    /// hides what libjpeg's coarse one did.
    private static func shrink(from stored: PixelSize, to base: PixelSize) -> Int {
        let ratio = min(
            Double(stored.width) / Double(base.width), Double(stored.height) / Double(base.height))
        return [8, 4, 2].first { ratio >= Double(2 * $0) } ?? 1
    }

    /// Bytes per pixel of what decoders and encoders hold, measured for libvips 8.14.1.
    private static func memory(
        _ header: SourceHeader, shrink: Int, base: PixelSize, for drawings: [Drawing]
    ) -> Int {
        let decoder: Double =
            switch header.format {
            // A progressive JPEG holds all its coefficients, whatever the shrinking.
            case .jpeg: header.isInterlaced ? 6 : 0.3
            case .png: header.isInterlaced ? 8 : 0.5
            case .webp: 5
            case .gif: 8
            default: 8
            }
        let copies = header.orientation == 1 ? 1 : 2
        let encoder = drawings.map { $0.size.area * encoderBytes }.max() ?? 0
        return Int(Double(header.storedSize.area) * decoder) + base.area * 4 * copies + encoder
    }

    /// The hungriest common encoder, WebP, per pixel.
    private static let encoderBytes = 8
}
