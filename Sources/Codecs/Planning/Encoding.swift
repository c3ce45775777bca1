internal import ImageModel
internal import Transcoder

/// How a variant's pixels are encoded.
struct Encoding: Sendable, Hashable {
    let format: ImageFormat
    /// The requested format, when it is not written.
    let replaced: ImageFormat?
    /// 0…100, the highest when there is a limit on bytes; nil for a format without a quality.
    let quality: Int?
    let maxBytes: Int?
    /// The settings of the requested format's encoder; nil for its usual ones.
    let options: EncoderOptions?
    /// The structural similarity that the lowest possible quality is to have; nil for none.
    let ssim: Double?
    /// The colour under transparency in a format without it; nil is white.
    let background: Color?
    let keepICC, keepCopyright: Bool
    /// Whether all frames are written, not the first alone.
    let isAnimated: Bool
    /// Further encodings, of which the smallest file is written; empty where the variant has one format.
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
        // The colour under transparency is lost in a format without it.
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

    /// The highest quality that is tried for a similarity where the variant has none.
    private static let highestForSimilarity = 95

    /// Each encoding that is tried, the one that takes the least time first.
    var all: [Encoding] { [self] + others }

    /// Whether a file of it has the copyright.
    var keepsCopyright: Bool { all.contains(where: \.keepCopyright) }

    /// Whether the pixels may be encoded several times.
    var isSearched: Bool { maxBytes != nil || ssim != nil || !others.isEmpty }

    /// Whether the encoder works on red, green and blue instead of luma and chroma.
    var isLossless: Bool { options?.lossless == true || options?.nearLossless == true }
}

/// A binary search for the highest quality within a limit on bytes.
struct QualitySearch: Sendable, Hashable {
    private var low = 1
    private var high: Int
    /// The quality to try next; nil once the search is over.
    private(set) var next: Int?
    /// The highest quality known to fit; nil when none is.
    private(set) var best: Int?

    /// - Parameter highest: the first quality to try.
    init(highest: Int) {
        high = max(1, highest)
        next = high
    }

    /// Records whether the quality tried last fits.
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
