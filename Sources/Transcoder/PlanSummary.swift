package import ImageModel

/// A plan for `larder transform --explain`: the steps of each variant and the estimated cost.
package struct PlanSummary: Sendable, Hashable, Codable {
    package struct Variant: Sendable, Hashable, Codable {
        package let name: String
        /// The source of its pixels: `decoded image`, `own profile`, another variant's name in quotes, or `copy` of the
        /// original's bytes.
        package let from: String
        /// The steps, one text each.
        package var steps: [String] = []
        /// The written size in pixels; nil if nothing is written. With a trim the maximum.
        package var width, height: Int?
        /// Whether a border of unknown width is trimmed.
        package var trims = false
        /// The written format; nil if chosen among `formats`.
        package var format: ImageFormat?
        /// Candidate formats, of which the smallest file is written; nil for a single format.
        package var formats: [ImageFormat]?
        /// The requested format, if another is written.
        package var replaced: ImageFormat?
        /// 0…100; the highest if there is a byte limit; nil for formats without quality.
        package var quality: Int?
        /// The target structural similarity, reached at the lowest possible quality.
        package var ssim: Double?
        /// Encoder settings, `effort=6,lossless=true`; nil for the defaults.
        package var encode: String?
        /// The variant with the same bytes.
        package var sameBytesAs: String?
        /// Why it cannot be made.
        package var error: String?

        package init(name: String, from: String) { (self.name, self.from) = (name, from) }
    }

    /// The pixels' decoder: `libvips`, or the faster `planes`.
    package let path: String
    /// The header of the original.
    package let source: SourceHeader
    /// libjpeg's shrink factor: 1, 2, 4 or 8.
    package let shrink: Int
    /// The decoded size in stored orientation.
    package let decodedWidth, decodedHeight: Int
    package let frames: Int
    package let variants: [Variant]
    /// Estimated bytes of memory beyond an idle child's.
    package let memoryBytes: Int
    /// Estimated processor time in milliseconds, from measurements on one machine: for comparing plans.
    package let milliseconds: Double

    package init(
        path: String, source: SourceHeader, shrink: Int, decodedWidth: Int, decodedHeight: Int, frames: Int,
        variants: [Variant], memoryBytes: Int, milliseconds: Double
    ) {
        (self.path, self.source, self.shrink, self.frames) = (path, source, shrink, frames)
        (self.decodedWidth, self.decodedHeight) = (decodedWidth, decodedHeight)
        (self.variants, self.memoryBytes, self.milliseconds) = (variants, memoryBytes, milliseconds)
    }

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
