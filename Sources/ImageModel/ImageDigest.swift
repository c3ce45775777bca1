/// What an image looks like in a few bytes: for placeholders, and to find the same image again.
package struct ImageDigest: Sendable, Hashable, Codable {
    /// A ThumbHash, https://evanw.github.io/thumbhash/, in base 64.
    package var thumbHash: String
    /// A BlurHash, https://blurha.sh, of 4 × 3 frequencies or, where the image is higher than wide, 3 × 4; on white.
    package var blurHash: String
    /// The mean of all pixels, `#aarrggbb` with straight alpha.
    package var averageColor: String
    /// The mean of the most frequent colours, `#aarrggbb`; opaque.
    package var dominantColor: String
    /// 64 bits in 16 hexadecimal digits, from the lowest frequencies; similar images differ in few of them.
    package var perceptualHash: String
    /// Whether the image has an alpha channel.
    package var hasAlpha: Bool
    /// Frames; 1 for a still.
    package var frames: Int

    /// Creates a digest from its parts.
    package init(
        thumbHash: String, blurHash: String, averageColor: String, dominantColor: String, perceptualHash: String,
        hasAlpha: Bool, frames: Int
    ) {
        self.thumbHash = thumbHash
        self.blurHash = blurHash
        self.averageColor = averageColor
        self.dominantColor = dominantColor
        self.perceptualHash = perceptualHash
        self.hasAlpha = hasAlpha
        self.frames = frames
    }
}
