/// Which format a variant is written in, as a pure decision.
package enum OutputFormat {
    /// The formats a variant may ask for in this version.
    static let requestable: Set<ImageFormat> = [.jpeg, .png, .gif, .webp]

    /// HEIC is kept up to this many pixels: HEVC costs 1.6 µs of processor time a pixel here, so that is about 6 s
    /// of the 20 a picture has for all its variants.
    package static let heicPixels = 4_000_000

    /// The format asked for, else the source's if it can be kept: JPEG, PNG, GIF, WebP and HEIC are; AVIF and what
    /// cannot be written become PNG with alpha, else JPEG.
    ///
    /// From SDWebImage 5.21.5, where a transformed picture keeps its source's format tag, and an undefined one is
    /// written as PNG with alpha, else JPEG.
    package static func decide(
        requested: ImageFormat?, source: ImageFormat, size: PixelSize, hasAlpha: Bool, canWriteHEIC: Bool
    ) -> ImageFormat {
        if let requested { return requested }
        let fallback: ImageFormat = hasAlpha ? .png : .jpeg
        switch source {
        case .jpeg, .png, .gif, .webp: return source
        case .heic, .heif: return canWriteHEIC && size.area <= heicPixels ? .heic : fallback
        case .avif, .tiff, .svg, .jxl, .pdf, .bmp: return fallback
        }
    }

    /// The quality used where none is asked for; nil for formats without one.
    static func defaultQuality(_ format: ImageFormat) -> Int? {
        switch format {
        case .jpeg, .webp, .heic: 80
        case .avif: 50
        default: nil
        }
    }
}
