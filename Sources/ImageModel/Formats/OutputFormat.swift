/// Which format a variant is written in.
package enum OutputFormat {
    package struct Choice: Sendable, Hashable {
        package let format: ImageFormat
        /// The format that was wanted, where it cannot be written: no encoder, too many pixels, or too long an edge.
        package let replaced: ImageFormat?
    }

    /// The requested format, else the source's where it is kept, else PNG with alpha or for frames, and JPEG otherwise.
    ///
    /// Source: SDWebImage 5.21.5, where a transformed image keeps its source's format tag, and an undefined one is
    /// written as PNG with alpha, else JPEG.
    ///
    /// - Parameter source: nil for the format of a coder, which is never written.
    package static func decide(
        requested: ImageFormat?, source: ImageFormat?, size: PixelSize, hasAlpha: Bool, hasFrames: Bool = false,
        writable: Set<ImageFormat>
    ) -> Choice {
        let fallback: ImageFormat = hasAlpha || hasFrames ? .png : .jpeg
        guard let named = requested ?? source else { return Choice(format: fallback, replaced: nil) }
        let candidate = written(named)
        let isAllowed = requested != nil || candidate.output?.isKept == true
        guard isAllowed, let output = candidate.output else { return Choice(format: fallback, replaced: nil) }
        guard writable.contains(candidate), size.area <= output.maxPixels,
            max(size.width, size.height) <= output.maxEdge
        else { return Choice(format: fallback, replaced: candidate == fallback ? nil : candidate) }
        return Choice(format: candidate, replaced: nil)
    }

    /// The format that an image of `format` is written back as.
    package static func written(_ format: ImageFormat) -> ImageFormat {
        format.writtenAs.flatMap(ImageFormat.init(rawValue:)) ?? format
    }
}
