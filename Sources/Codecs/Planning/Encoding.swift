internal import ImageModel
internal import Transcoder

/// How a variant's pixels are encoded.
struct Encoding: Sendable, Hashable {
    let format: ImageFormat
    /// The requested format, if another is written.
    let replaced: ImageFormat?
    /// 0…100; with a byte limit, the highest to try. Nil for a format without quality.
    let quality: Int?
    let maxBytes: Int?
    /// The requested format's encoder settings; nil for the defaults.
    let options: EncoderOptions?
    /// The target structural similarity, reached at the lowest possible quality; nil for none.
    let ssim: Double?
    /// The colour under transparency in a format without it; nil is white.
    let background: Color?
    let keepICC, keepCopyright: Bool
    /// Whether all frames are written, not only the first.
    let isAnimated: Bool
    /// Further encodings, of which the smallest file is written; empty for a single format.
    private(set) var others: [Encoding] = []

    init(_ variant: Variant, _ drawing: Drawing, of header: SourceHeader, writable: Set<ImageFormat>) {
        func encoding(_ requested: ImageFormat?) -> Encoding {
            Encoding(variant, requested, drawing, of: header, writable: writable)
        }
        guard let automatic = variant.automatic else {
            self = encoding(variant.format)
            return
        }
        let written = automatic.formats.map(encoding).filter { $0.replaced == nil }
        // Formats without transparency lose the colour under it.
        let whole = written.filter { !drawing.hasAlpha || $0.format.output?.holdsAlpha == true }
        let chosen = (whole.isEmpty ? written : whole).sorted { $0.searchNanoseconds < $1.searchNanoseconds }
        self = chosen.first ?? encoding(automatic.formats.first)
        others = Array(chosen.dropFirst())
    }

    private init(
        _ variant: Variant, _ requested: ImageFormat?, _ drawing: Drawing, of header: SourceHeader,
        writable: Set<ImageFormat>
    ) {
        let hasFrames = variant.animation == .frames && header.hasReadableFrames
        let choice = OutputFormat.decide(
            requested: requested, source: header.coder == nil ? header.format : nil, size: drawing.size,
            hasAlpha: drawing.hasAlpha, hasFrames: hasFrames, writable: writable)
        let output = choice.format.output
        format = choice.format
        replaced = choice.replaced
        options = choice.replaced == nil ? variant.encode : nil
        isAnimated = hasFrames && output?.holdsFrames == true
        let wanted = variant.ssim ?? variant.automatic.map { _ in AutomaticFormat.usualSimilarity }
        ssim = isAnimated || output?.defaultQuality == nil ? nil : wanted
        let usual = ssim == nil ? output?.defaultQuality : Self.highestForSimilarity
        quality = options?.lossless == true ? nil : usual.map { variant.quality ?? $0 }
        maxBytes = variant.maxBytes
        background = output?.holdsAlpha == false && drawing.hasAlpha ? variant.background : nil
        keepICC = variant.keepICC && header.hasOwnProfile && output?.holdsProfile == true
        keepCopyright = variant.keepCopyright && output?.holdsCopyright == true
    }

    /// The highest quality tried for a similarity if the variant has none.
    private static let highestForSimilarity = 95

    /// All tried encodings, quickest first.
    var all: [Encoding] { [self] + others }

    /// Whether any tried encoding keeps the copyright.
    var keepsCopyright: Bool { all.contains(where: \.keepCopyright) }

    /// Whether the pixels may be encoded several times.
    var isSearched: Bool { maxBytes != nil || ssim != nil || !others.isEmpty }

    /// Whether the encoder works on RGB instead of luma and chroma.
    var isLossless: Bool { options?.lossless == true || options?.nearLossless == true }
}

/// A binary search for the highest quality within a byte limit.
struct QualitySearch: Sendable, Hashable {
    private var low = 1
    private var high: Int
    /// The quality to try next; nil once the search is over.
    private(set) var next: Int?
    /// The highest quality known to fit; nil if none is.
    private(set) var best: Int?

    /// - Parameter highest: the first quality to try.
    init(highest: Int) {
        high = max(1, highest)
        next = high
    }

    /// Records whether the last tried quality fits.
    mutating func record(fits: Bool) {
        guard let tried = next else { return }
        if fits {
            best = tried
            low = tried + 1
        } else {
            high = tried - 1
        }
        next = low <= high ? (low + high) / 2 : nil
    }
}
