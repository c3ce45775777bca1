/// What SDWebImage takes a picture for, by its own sniffing and with its own numbers.
///
/// Used for tags and keys only; which pictures Larder accepts is `ImageFormat`'s business.
/// From SDWebImage 5.21.5, NSData+ImageContentType.
public enum SDImageFormat: Int, Sendable, Hashable, CaseIterable {
    /// Not known to SDWebImage, AVIF and JPEG XL among them.
    case undefined = -1
    /// JPEG.
    case jpeg = 0
    /// PNG, animated or not.
    case png = 1
    /// GIF.
    case gif = 2
    /// TIFF.
    case tiff = 3
    /// WebP.
    case webp = 4
    /// HEIC.
    case heic = 5
    /// HEIF of a general brand.
    case heif = 6
    /// PDF.
    case pdf = 7
    /// SVG.
    case svg = 8
    /// BMP.
    case bmp = 9
    /// A camera's raw format; never sniffed.
    case raw = 10

    /// How many bytes of a file's beginning, and of its end, sniffing looks at.
    public static let sniffedBytes = (prefix: 12, suffix: 100)

    /// Sniffs a file by its first 12 bytes and its last 100.
    ///
    /// - Parameters:
    ///   - prefix: the first 12 bytes, or all there are.
    ///   - suffix: the last 100 bytes, or all there are.
    public static func sniff(prefix: [UInt8], suffix: [UInt8]) -> SDImageFormat {
        guard let first = prefix.first else { return .undefined }
        switch first {
        case 0xFF: return .jpeg
        case 0x89: return .png
        case UInt8(ascii: "G"): return .gif
        case UInt8(ascii: "I"), UInt8(ascii: "M"): return .tiff
        case UInt8(ascii: "B"): return .bmp
        case UInt8(ascii: "R"):
            let isWebP = prefix.count >= 12 && has("RIFF", in: prefix, at: 0) && has("WEBP", in: prefix, at: 8)
            return isWebP ? .webp : .undefined
        case 0x00:
            guard prefix.count >= 12, has("ftyp", in: prefix, at: 4) else { return .undefined }
            if ["heic", "heix", "hevc", "hevx"].contains(where: { has($0, in: prefix, at: 8) }) { return .heic }
            if ["mif1", "msf1"].contains(where: { has($0, in: prefix, at: 8) }) { return .heif }
            return .undefined
        case UInt8(ascii: "%"):
            return has("PDF", in: prefix, at: 1) ? .pdf : .undefined
        case UInt8(ascii: "<"):
            let end = suffix.suffix(sniffedBytes.suffix)
            return Array(end).contains(bytes: "</svg>") ? .svg : .undefined
        default: return .undefined
        }
    }

    /// Sniffs a whole file in memory.
    public static func sniff(_ bytes: [UInt8]) -> SDImageFormat {
        sniff(
            prefix: Array(bytes.prefix(sniffedBytes.prefix)), suffix: Array(bytes.suffix(sniffedBytes.suffix)))
    }

    private static func has(_ text: StaticString, in bytes: [UInt8], at offset: Int) -> Bool {
        bytes.has(text, at: offset)
    }
}
