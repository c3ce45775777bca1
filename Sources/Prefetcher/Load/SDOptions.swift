/// SDWebImage's option bits by name and value (SDWebImage 5.21.5, SDWebImageOptions).
public enum SDOptions {
    /// Bit 0: ignore the blocklist, and leave it after a success.
    public static let retryFailed: UInt64 = 1 << 0
    /// Bit 1: a priority below normal.
    public static let lowPriority: UInt64 = 1 << 1
    /// Bit 7: a priority above normal; it wins over bit 1.
    public static let highPriority: UInt64 = 1 << 7
    /// Bit 9: run transformers on animated images, which become their first frame.
    public static let transformAnimatedImage: UInt64 = 1 << 9

    /// The names in the order of their bits, from 0.
    public static let names = [
        "RetryFailed", "LowPriority", "ProgressiveLoad", "RefreshCached", "ContinueInBackground", "HandleCookies",
        "AllowInvalidSSLCertificates", "HighPriority", "DelayPlaceholder", "TransformAnimatedImage",
        "AvoidAutoSetImage", "ScaleDownLargeImages", "QueryMemoryData", "QueryMemoryDataSync", "QueryDiskDataSync",
        "FromCacheOnly", "FromLoaderOnly", "ForceTransition", "AvoidDecodeImage", "DecodeFirstFrameOnly",
        "PreloadAllFrames", "MatchAnimatedImageClass", "WaitStoreCache", "TransformVectorImage",
        "AvoidAutoCancelImage", "WaitTransition",
    ]

    /// The bits that change what Larder does today; the others are refused rather than ignored.
    public static let supported: UInt64 = retryFailed | lowPriority | highPriority | transformAnimatedImage

    /// The bit of a name, upper and lower case apart; nil for an unknown one.
    public static func bit(named name: String) -> UInt64? {
        names.firstIndex(of: name).map { 1 << UInt64($0) }
    }
}
