/// The format that SDWebImage's sniffing detects, with its numbers.
///
/// For tags and keys only; `ImageFormat` decides what is accepted. Source: SDWebImage 5.21.5, NSData+ImageContentType.
package enum SDImageFormat: Int, Sendable, Hashable, CaseIterable {
    /// Unknown to SDWebImage, such as AVIF and JPEG XL.
    case undefined = -1
    case jpeg = 0
    case png = 1
    case gif = 2
    case tiff = 3
    case webp = 4
    case heic = 5
    /// HEIF with a general brand.
    case heif = 6
    case pdf = 7
    case svg = 8
    case bmp = 9
    /// A camera's raw format; never sniffed.
    case raw = 10

    /// Bytes of a file's beginning and end that `sniff` reads.
    package static let sniffedBytes = (prefix: 12, suffix: 100)

    /// Sniffs a file.
    ///
    /// - Parameters:
    ///   - prefix: the first 12 bytes, or the whole file.
    ///   - suffix: the last 100 bytes, or the whole file.
    package static func sniff(prefix: [UInt8], suffix: [UInt8]) -> SDImageFormat {
        guard let first = prefix.first else { return .undefined }
        switch first {
        case 0xFF: return .jpeg
        case 0x89: return .png
        case UInt8(ascii: "G"): return .gif
        case UInt8(ascii: "I"), UInt8(ascii: "M"): return .tiff
        case UInt8(ascii: "B"): return .bmp
        case UInt8(ascii: "R"): return prefix.has("RIFF", at: 0) && prefix.has("WEBP", at: 8) ? .webp : .undefined
        case 0x00:
            guard prefix.count >= 12, prefix.has("ftyp", at: 4) else { return .undefined }
            if ["heic", "heix", "hevc", "hevx"].contains(where: { prefix.has($0, at: 8) }) { return .heic }
            return ["mif1", "msf1"].contains { prefix.has($0, at: 8) } ? .heif : .undefined
        case UInt8(ascii: "%"): return prefix.has("PDF", at: 1) ? .pdf : .undefined
        case UInt8(ascii: "<"):
            return Array(suffix.suffix(sniffedBytes.suffix)).contains(bytes: "</svg>") ? .svg : .undefined
        default: return .undefined
        }
    }

    /// Sniffs a whole file in memory.
    package static func sniff(_ bytes: [UInt8]) -> SDImageFormat {
        sniff(prefix: Array(bytes.prefix(sniffedBytes.prefix)), suffix: Array(bytes.suffix(sniffedBytes.suffix)))
    }
}
