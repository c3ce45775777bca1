/// What a load may be told in one number: SDWebImage's option bits, with its values and names.
///
/// All 26 are taken; those that only concern a view, a screen or an app in the background change nothing here.
/// docs/sdwebimage.md tells of each what it does. Source: SDWebImage 5.21.5, `SDWebImageOptions`.
public struct LoadOptions: OptionSet, Sendable, Hashable {
    /// The bits; those without a name are kept and mean nothing.
    public let rawValue: UInt64

    /// Options by their bits.
    public init(rawValue: UInt64) { self.rawValue = rawValue }

    /// Ignore the blocklist, and leave it after a successful download.
    public static let retryFailed = LoadOptions(bit: 0)
    /// After others, in the queue and for a connection.
    public static let lowPriority = LoadOptions(bit: 1)
    /// Ask the server whether the original has changed, although it is cached.
    public static let refreshCached = LoadOptions(bit: 3)
    /// Send and keep cookies for the time of the load.
    public static let handleCookies = LoadOptions(bit: 5)
    /// Do not check the server's certificate; needs the worker's consent.
    public static let allowInvalidSSLCertificates = LoadOptions(bit: 6)
    /// Before others, in the queue and for a connection; wins over `lowPriority`.
    public static let highPriority = LoadOptions(bit: 7)
    /// Run transformers on animated pictures, which become their first frame.
    public static let transformAnimatedImage = LoadOptions(bit: 9)
    /// Scale what is decoded down to the default limit of bytes.
    public static let scaleDownLargeImages = LoadOptions(bit: 11)
    /// Never download; what is not cached is no error.
    public static let fromCacheOnly = LoadOptions(bit: 15)
    /// Never look into the cache; what is downloaded is stored all the same.
    public static let fromLoaderOnly = LoadOptions(bit: 16)
    /// Take an animated picture for a still one: its variants show its first frame.
    public static let decodeFirstFrameOnly = LoadOptions(bit: 19)
    /// Run transformers on vector pictures.
    public static let transformVectorImage = LoadOptions(bit: 23)

    /// The names in the order of their bits, from 0.
    public static let names = [
        "RetryFailed", "LowPriority", "ProgressiveLoad", "RefreshCached", "ContinueInBackground", "HandleCookies",
        "AllowInvalidSSLCertificates", "HighPriority", "DelayPlaceholder", "TransformAnimatedImage",
        "AvoidAutoSetImage", "ScaleDownLargeImages", "QueryMemoryData", "QueryMemoryDataSync", "QueryDiskDataSync",
        "FromCacheOnly", "FromLoaderOnly", "ForceTransition", "AvoidDecodeImage", "DecodeFirstFrameOnly",
        "PreloadAllFrames", "MatchAnimatedImageClass", "WaitStoreCache", "TransformVectorImage",
        "AvoidAutoCancelImage", "WaitTransition",
    ]

    /// The options that change what a load does; the others are taken and mean nothing here.
    public static let withEffect: LoadOptions = [
        .retryFailed, .lowPriority, .refreshCached, .handleCookies, .allowInvalidSSLCertificates, .highPriority,
        .transformAnimatedImage, .scaleDownLargeImages, .fromCacheOnly, .fromLoaderOnly, .decodeFirstFrameOnly,
        .transformVectorImage,
    ]

    /// The names of the options that are set, in the order of their bits.
    public var names: [String] {
        Self.names.enumerated().filter { contains(LoadOptions(bit: UInt64($0.offset))) }.map(\.element)
    }

    /// The option of a name, upper and lower case apart; nil for an unknown one.
    public init?(named name: String) {
        guard let bit = Self.names.firstIndex(of: name) else { return nil }
        self.init(bit: UInt64(bit))
    }

    /// The priority of a job or a transfer: high wins over low.
    public var priority: Priority {
        if contains(.highPriority) { return .high }
        return contains(.lowPriority) ? .low : .normal
    }

    /// One of SDWebImage's three priorities.
    public enum Priority: Sendable, Hashable, CaseIterable {
        case high, normal, low

        /// The queue's number for it, of 0 first … 9 last.
        public var number: Int {
            switch self {
            case .high: 1
            case .normal: 4
            case .low: 7
            }
        }
    }

    private init(bit: UInt64) { rawValue = 1 << bit }
}
