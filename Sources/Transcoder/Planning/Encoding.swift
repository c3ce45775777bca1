package import ImageModel

/// How a variant's pixels become bytes, all of it decided before there are any.
package struct Encoding: Sendable, Hashable {
    package let format: ImageFormat
    /// The format that was wanted and is not written.
    package let replaced: ImageFormat?
    /// 0…100, the highest where there is a limit on bytes; nil for a format without one.
    package let quality: Int?
    package let maxBytes: Int?
    /// What lies under transparency in a format without it; nil is white.
    package let background: Color?
    package let keepICC, keepCopyright: Bool
    /// All frames are written, not the first alone.
    package let isAnimated: Bool

    init(_ variant: Variant, _ drawing: Drawing, of header: SourceHeader, writable: Set<ImageFormat>) {
        let choice = OutputFormat.decide(
            requested: variant.format, source: header.format, size: drawing.size, hasAlpha: drawing.hasAlpha,
            writable: writable)
        format = choice.format
        replaced = choice.replaced
        quality = OutputFormat.defaultQuality(format).map { variant.quality ?? $0 }
        maxBytes = variant.maxBytes
        background = format == .jpeg && drawing.hasAlpha ? variant.background : nil
        keepICC = variant.keepICC && header.hasOwnProfile && format != .gif
        keepCopyright = variant.keepCopyright && format != .gif
        isAnimated = variant.everyFrame && header.isAnimated && OutputFormat.animated.contains(format)
    }
}

/// The search for the highest quality that fits a limit on bytes: few encodings, the last of them the answer or known.
package struct QualitySearch: Sendable, Hashable {
    private var low = 1
    private var high: Int
    /// The quality to try next; nil once the search is over.
    package private(set) var next: Int?

    /// - Parameter highest: where to begin, the quality without a limit.
    package init(highest: Int) {
        high = max(1, highest)
        next = high
    }

    /// The highest quality known to fit; nil where none is.
    package private(set) var best: Int?

    /// Takes note of what the quality tried last came to.
    package mutating func tell(fits isWithin: Bool) {
        guard let tried = next else { return }
        if isWithin {
            best = tried
            low = tried + 1
        } else {
            high = tried - 1
        }
        next = low <= high ? (low + high) / 2 : nil
    }
}
