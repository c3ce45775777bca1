public import Downloader
package import Transcoder

/// SDWebImage's option bits, with its values and names.
///
/// All 26 are accepted; those for views, screens and background apps have no effect. docs/sdwebimage.md lists each
/// effect. Source: SDWebImage 5.21.5, `SDWebImageOptions`.
public struct LoadOptions: OptionSet, Sendable, Hashable {
    /// The bits. Unnamed bits are kept and have no effect.
    public let rawValue: UInt64

    /// Options with these bits.
    public init(rawValue: UInt64) { self.rawValue = rawValue }

    /// Ignore the blocklist, and remove the URL from it after a successful download.
    public static let retryFailed = LoadOptions(bit: 0)
    /// Low priority in the queue and for a connection.
    public static let lowPriority = LoadOptions(bit: 1)
    /// Deliver partial images to `LoadRequest.partial` while an original without a cached copy is downloaded.
    public static let progressiveLoad = LoadOptions(bit: 2)
    /// Revalidate a cached original with its server.
    public static let refreshCached = LoadOptions(bit: 3)
    /// Keep cookies and send them back during this load.
    public static let handleCookies = LoadOptions(bit: 5)
    /// Accept any server certificate, if the worker allows it.
    public static let allowInvalidSSLCertificates = LoadOptions(bit: 6)
    /// High priority in the queue and for a connection; overrides `lowPriority`.
    public static let highPriority = LoadOptions(bit: 7)
    /// Run transformers on the first frame of animated images. Otherwise the variant is a copy of the original, or
    /// every frame at its thumbnail size.
    public static let transformAnimatedImage = LoadOptions(bit: 9)
    /// Scale decoded images down to the default byte limit.
    public static let scaleDownLargeImages = LoadOptions(bit: 11)
    /// Never download. A missing image is not an error.
    public static let fromCacheOnly = LoadOptions(bit: 15)
    /// Skip the cache lookup. A downloaded image is still stored.
    public static let fromLoaderOnly = LoadOptions(bit: 16)
    /// Make variants of the first frame of animated images.
    public static let decodeFirstFrameOnly = LoadOptions(bit: 19)
    /// Run transformers on SVG and PDF images. Otherwise the variant is a copy of the original, unless it has a
    /// thumbnail size or a format.
    public static let transformVectorImage = LoadOptions(bit: 23)

    /// Remake variants whose stored recipe differs or is unknown. Larder's own option.
    public static let remake = LoadOptions(bit: 40)

    /// The names in bit order, from 0.
    public static let names = [
        "RetryFailed", "LowPriority", "ProgressiveLoad", "RefreshCached", "ContinueInBackground", "HandleCookies",
        "AllowInvalidSSLCertificates", "HighPriority", "DelayPlaceholder", "TransformAnimatedImage",
        "AvoidAutoSetImage", "ScaleDownLargeImages", "QueryMemoryData", "QueryMemoryDataSync", "QueryDiskDataSync",
        "FromCacheOnly", "FromLoaderOnly", "ForceTransition", "AvoidDecodeImage", "DecodeFirstFrameOnly",
        "PreloadAllFrames", "MatchAnimatedImageClass", "WaitStoreCache", "TransformVectorImage",
        "AvoidAutoCancelImage", "WaitTransition",
    ]

    /// The options that change the load of a job.
    public static let withEffect: LoadOptions = [
        .retryFailed, .lowPriority, .refreshCached, .handleCookies, .allowInvalidSSLCertificates, .highPriority,
        .transformAnimatedImage, .scaleDownLargeImages, .fromCacheOnly, .fromLoaderOnly, .decodeFirstFrameOnly,
        .transformVectorImage,
    ]

    /// The names of the set options, in bit order.
    public var names: [String] {
        Self.names.enumerated().filter { contains(LoadOptions(bit: UInt64($0.offset))) }.map(\.element)
    }

    /// The option with this case-sensitive name; nil if unknown.
    public init?(named name: String) {
        guard let bit = Self.names.firstIndex(of: name) else { return nil }
        self.init(bit: UInt64(bit))
    }

    /// The priority of a transfer.
    public var priority: FetchPriority {
        if contains(.highPriority) { return .high }
        return contains(.lowPriority) ? .low : .normal
    }

    /// The priority of a job, from 0 (first) to 9 (last): 1 for high, 7 for low, nil for the queue's default.
    public var jobPriority: Int? {
        switch priority {
        case .high: 1
        case .normal: nil
        case .low: 7
        }
    }

    /// How a transcoder draws animations and vector images under these options.
    package var drawing: TranscodeRequest.Options {
        var drawing: TranscodeRequest.Options = []
        if contains(.transformAnimatedImage) { drawing.insert(.transformsAnimated) }
        if contains(.decodeFirstFrameOnly) { drawing.insert(.firstFrameOnly) }
        if contains(.transformVectorImage) { drawing.insert(.transformsVector) }
        return drawing
    }

    private init(bit: UInt64) { rawValue = 1 << bit }
}
