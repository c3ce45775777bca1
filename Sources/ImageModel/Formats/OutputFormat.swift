/// Which format a variant is written in, as a pure decision.
package enum OutputFormat {
    /// The format that was wanted, and the one that is written.
    package struct Choice: Sendable, Hashable {
        package let format: ImageFormat
        /// The wanted one, where it cannot be written: no encoder here, too many pixels, or too long an edge.
        package let replaced: ImageFormat?
    }

    /// HEIC is written up to this many pixels: HEVC costs 2 to 4 µs of processor time a pixel, so that is up to 16 s
    /// of the 20 a picture has for all its variants.
    package static let heicPixels = 4_000_000
    /// AVIF is written up to this many pixels: effort 1 costs a tenth of a microsecond a pixel, or two.
    package static let avifPixels = 16_000_000
    /// The longest edge of WebP, and of what libvips 8.14.1 writes of HEIC and AVIF without a fault.
    private static let longestEdge = 16383

    /// The format asked for, else the source's if it can be kept: JPEG, PNG, GIF, WebP and HEIC are; AVIF and what
    /// cannot be written become PNG with alpha, else JPEG.
    ///
    /// From SDWebImage 5.21.5, where a transformed picture keeps its source's format tag, and an undefined one is
    /// written as PNG with alpha, else JPEG.
    package static func decide(
        requested: ImageFormat?, source: ImageFormat, size: PixelSize, hasAlpha: Bool, writable: Set<ImageFormat>
    ) -> Choice {
        let fallback: ImageFormat = hasAlpha ? .png : .jpeg
        let wanted: ImageFormat =
            switch requested ?? source {
            case .heif: .heic
            case .avif where requested == nil: fallback
            case .tiff, .svg, .jxl, .pdf, .bmp: fallback
            case let format: format
            }
        guard writable.contains(wanted), size.area <= pixels(wanted), max(size.width, size.height) <= edge(wanted)
        else { return Choice(format: fallback, replaced: wanted == fallback ? nil : wanted) }
        return Choice(format: wanted, replaced: nil)
    }

    private static func pixels(_ format: ImageFormat) -> Int {
        switch format {
        case .heic: heicPixels
        case .avif: avifPixels
        default: .max
        }
    }

    private static func edge(_ format: ImageFormat) -> Int {
        [.webp, .heic, .avif].contains(format) ? longestEdge : .max
    }

    /// The quality used where none is asked for; nil for formats without one.
    package static func defaultQuality(_ format: ImageFormat) -> Int? {
        switch format {
        case .jpeg, .webp, .heic: 80
        case .avif: 50
        default: nil
        }
    }

    /// The formats that can hold an animation here.
    package static let animated: Set<ImageFormat> = [.gif, .webp]
}
