/// The option bits of SDWebImage that change what a load does (SDWebImage 5.21.5, SDWebImageOptions).
public enum SDOptions {
    /// Bit 0: ignore the blocklist, and leave it after a success.
    public static let retryFailed: UInt64 = 1 << 0
    /// Bit 9: run transformers on animated images, which become their first frame.
    public static let transformAnimatedImage: UInt64 = 1 << 9
}
