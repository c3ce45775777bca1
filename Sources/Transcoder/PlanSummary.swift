package import ImageModel

/// A plan as `larder transform --explain` prints it: the steps of each variant, and the estimated cost.
package struct PlanSummary: Sendable, Hashable, Codable {
    /// One variant of the plan.
    package struct Variant: Sendable, Hashable, Codable {
        /// The variant's name.
        package let name: String
        /// The source of its pixels: `decoded image`, `own profile`, the name of another variant in quotes, or `copy`
        /// of the original's bytes.
        package let from: String
        /// The steps, one text each.
        package var steps: [String] = []
        /// The size written, in pixels; nil when nothing is written. With a trim the most that it can be.
        package var width, height: Int?
        /// Whether a border is cut, whose width only the pixels show.
        package var trims = false
        /// The format written; nil where it is chosen among `formats`.
        package var format: ImageFormat?
        /// The formats of which the smallest file is written; nil where there is one.
        package var formats: [ImageFormat]?
        /// The requested format, when another is written.
        package var replaced: ImageFormat?
        /// 0…100, for formats that have one; the highest when there is a limit on bytes.
        package var quality: Int?
        /// The structural similarity that the lowest possible quality is to have.
        package var ssim: Double?
        /// The settings of the encoder, `effort=6,lossless=true`; nil for its usual ones.
        package var encode: String?
        /// The variant that has the same bytes.
        package var sameBytesAs: String?
        /// The reason why it cannot be made.
        package var error: String?

        package init(name: String, from: String) { (self.name, self.from) = (name, from) }
    }

    /// The decoder of the pixels: `libvips`, or `planes`, which is faster.
    package let path: String
    /// The header of the original.
    package let source: SourceHeader
    /// libjpeg's shrink factor while it decodes: 1, 2, 4 or 8.
    package let shrink: Int
    /// The size held in memory, as stored.
    package let decodedWidth, decodedHeight: Int
    /// Frames decoded.
    package let frames: Int
    /// The variants, in their order.
    package let variants: [Variant]
    /// The memory it takes beyond an idle child's, in bytes; estimated.
    package let memoryBytes: Int
    /// The processor time in milliseconds, estimated from measurements on one machine: for comparing plans.
    package let milliseconds: Double

    package init(
        path: String, source: SourceHeader, shrink: Int, decodedWidth: Int, decodedHeight: Int, frames: Int,
        variants: [Variant], memoryBytes: Int, milliseconds: Double
    ) {
        (self.path, self.source, self.shrink, self.frames) = (path, source, shrink, frames)
        (self.decodedWidth, self.decodedHeight) = (decodedWidth, decodedHeight)
        (self.variants, self.memoryBytes, self.milliseconds) = (variants, memoryBytes, milliseconds)
    }

    /// The summary as lines of text.
    package var lines: [String] {
        let shrinking = shrink > 1 ? ", shrunk to 1/\(shrink) while decoding" : ""
        let count = frames > 1 ? ", \(frames) frames" : ""
        let estimate = "about \(Int(milliseconds.rounded())) ms of processor time, \(memoryBytes >> 20) MiB"
        return [
            "\(source.formatName) \(source.storedSize.text)\(count), by \(path): \(estimate)",
            "decoded to \(decodedWidth)×\(decodedHeight)\(shrinking)",
        ] + variants.map(\.line)
    }
}

extension PlanSummary.Variant {
    fileprivate var line: String {
        if let error { return "\(name): \(error)" }
        if let sameBytesAs { return "\(name): the bytes of \"\(sameBytesAs)\"" }
        let way = ([from == "copy" ? "copy of the original" : "from \(from)"] + steps).joined(separator: " → ")
        let size = "\(trims ? "at most " : "")\(width ?? 0)×\(height ?? 0)"
        let written = [
            format?.name, formats.map { "the smallest of \($0.map(\.name).joined(separator: ", "))" },
            quality.map { "quality \($0)" }, ssim.map { "ssim \($0)" }, encode,
            replaced.map { "instead of \($0.name)" },
        ]
        return "\(name): \(way) → \(written.compactMap(\.self).joined(separator: ", ")), \(size)"
    }
}
