extension ImageFormat {
    /// BMP; recognised and never read.
    public static let bmp = ImageFormat(
        name: "bmp", mediaType: "image/bmp", sdImageFormat: .bmp, acceptance: .never,
        hasSignature: { $0.has("BM", at: 0) && $0.count >= 14 })
}
