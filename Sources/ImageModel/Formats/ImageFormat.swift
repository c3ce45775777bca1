/// A picture format by Larder's own recognition: what may come in, and what can be written.
public enum ImageFormat: String, Sendable, Hashable, CaseIterable, Codable {
    /// JPEG.
    case jpeg
    /// PNG, animated or not.
    case png
    /// GIF.
    case gif
    /// WebP, animated or not.
    case webp
    /// HEIC: HEVC in a HEIF container, by its own brands.
    case heic
    /// HEIF by the general brands `mif1` and `msf1`; read and kept as HEIC is.
    case heif
    /// AVIF.
    case avif
    /// TIFF; opt-in.
    case tiff
    /// SVG; opt-in.
    case svg
    /// JPEG XL; opt-in.
    case jxl
    /// PDF, its first page; opt-in.
    case pdf
    /// BMP; recognised, so that the refusal can name it.
    case bmp

    /// The formats accepted unless configured otherwise.
    public static let acceptedByDefault: Set<ImageFormat> = [.jpeg, .png, .gif, .webp, .heic, .heif, .avif]

    /// The formats that are read only where they are allowed: their parsers see little fuzzing, or do much more than
    /// pictures need.
    public static let acceptedOnRequest: Set<ImageFormat> = [.tiff, .svg, .jxl, .pdf]

    /// How many bytes of a file's beginning `recognise` wants to see.
    public static let recognisedBytes = 512

    /// `jpeg`, `png`, …: as in variant JSON and in reports.
    public var name: String { rawValue }

    /// The media type, `image/jpeg` and so on.
    public var mediaType: String {
        switch self {
        case .svg: "image/svg+xml"
        case .pdf: "application/pdf"
        default: "image/\(rawValue)"
        }
    }

    /// The tag SDWebImage's coders give a picture decoded from this format: undefined for what it has no value for.
    public var sdImageFormat: SDImageFormat {
        switch self {
        case .jpeg: .jpeg
        case .png: .png
        case .gif: .gif
        case .webp: .webp
        case .heic: .heic
        case .heif: .heif
        case .tiff: .tiff
        case .svg: .svg
        case .pdf: .pdf
        case .bmp: .bmp
        case .avif, .jxl: .undefined
        }
    }

    /// Recognises a file by its first bytes; nil when it is no picture Larder knows.
    ///
    /// Stricter than SDWebImage's sniffing: whole signatures, and the brands of a HEIF container told apart.
    ///
    /// - Parameter prefix: the first 512 bytes, or all there are.
    public static func recognise(_ prefix: [UInt8]) -> ImageFormat? {
        if prefix.starts(with: [0xFF, 0xD8, 0xFF]) { return .jpeg }
        if prefix.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) { return .png }
        if prefix.has("GIF87a", at: 0) || prefix.has("GIF89a", at: 0) { return .gif }
        if prefix.has("RIFF", at: 0) && prefix.has("WEBP", at: 8) { return .webp }
        if prefix.has("ftyp", at: 4) { return recogniseBrands(prefix) }
        if prefix.starts(with: [0xFF, 0x0A]) || prefix.starts(with: [0, 0, 0, 12, 0x4A, 0x58, 0x4C, 0x20]) {
            return .jxl
        }
        if prefix.starts(with: [0x49, 0x49, 0x2A, 0]) || prefix.starts(with: [0x4D, 0x4D, 0, 0x2A]) { return .tiff }
        if prefix.has("%PDF-", at: 0) { return .pdf }
        if prefix.has("BM", at: 0) && prefix.count >= 14 { return .bmp }
        if prefix.contains(bytes: "<svg") { return .svg }
        return nil
    }

    /// The first box of a HEIF container: its main brand, then the compatible ones.
    private static func recogniseBrands(_ prefix: [UInt8]) -> ImageFormat? {
        let boxEnd = Swift.min(prefix.bigEndian(at: 0) ?? 0, prefix.count)
        let compatible = stride(from: 16, to: Swift.max(16, boxEnd - 3), by: 4)
        if ["avif", "avis"].contains(where: { prefix.has($0, at: 8) }) { return .avif }
        if ["heic", "heix", "hevc", "hevx", "heim", "heis", "hevm", "hevs"].contains(where: { prefix.has($0, at: 8) }) {
            return .heic
        }
        guard prefix.has("mif1", at: 8) || prefix.has("msf1", at: 8) else { return nil }
        let holdsAVIF = compatible.contains { prefix.has("avif", at: $0) || prefix.has("avis", at: $0) }
        return holdsAVIF ? .avif : .heif
    }
}
