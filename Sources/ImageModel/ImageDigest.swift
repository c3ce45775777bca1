/// An image's look in a few bytes: for placeholders and for finding equal images.
package struct ImageDigest: Sendable, Hashable, Codable {
    /// A ThumbHash, https://evanw.github.io/thumbhash/, in base 64.
    package var thumbHash: String
    /// A BlurHash, https://blurha.sh, of 4 × 3 frequencies, for portrait images 3 × 4; on white.
    package var blurHash: String
    /// The mean of all pixels, `#aarrggbb` with straight alpha.
    package var averageColor: String
    /// The mean of the most frequent colours, `#aarrggbb`; opaque.
    package var dominantColor: String
    /// 64 bits in 16 hexadecimal digits, from the lowest frequencies; similar images differ in few bits.
    package var perceptualHash: String
    package var hasAlpha: Bool
    /// 1 for a still.
    package var frames: Int

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
