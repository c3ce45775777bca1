internal import ImageModel

/// What a picture looks like in a few bytes: for placeholders, and to find the same picture again.
public struct ImageDigest: Sendable, Hashable, Codable {
    /// The size as seen, after orientation, in pixels.
    public let width, height: Int
    /// Whether the picture has an alpha channel.
    public let hasAlpha: Bool
    /// Frames; 1 for a still.
    public let frames: Int
    /// The mean of all pixels, `#aarrggbb` with straight alpha.
    public let averageColor: String
    /// The mean of the colours that are found most often, `#aarrggbb`; opaque.
    public let dominantColor: String
    /// A ThumbHash, https://evanw.github.io/thumbhash/, in base 64.
    public let thumbHash: String
    /// 64 bits in 16 hexadecimal digits, by the lowest frequencies; pictures alike differ in few of them.
    public let perceptualHash: String

    /// - Parameters:
    ///   - small: the picture within 100 × 100 pixels.
    ///   - square: the picture stretched to 32 × 32 pixels.
    init(_ header: SourceHeader, small: DigestPixels, square: DigestPixels) {
        width = header.uprightSize.width
        height = header.uprightSize.height
        hasAlpha = header.hasAlpha
        frames = header.frames
        averageColor = small.averageColor
        dominantColor = small.dominantColor
        thumbHash = ThumbHash.base64(small)
        perceptualHash = square.perceptualHash
    }
}
