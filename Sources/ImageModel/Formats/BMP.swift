extension ImageFormat {
    /// BMP; recognised and never read.
    public static let bmp = ImageFormat(
        "bmp", sdImageFormat: .bmp, .never, hasSignature: { $0.has("BM", at: 0) && $0.count >= 14 })
}
