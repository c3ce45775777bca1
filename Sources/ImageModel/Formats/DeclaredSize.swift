/// The size that a file's first bytes declare, read while the rest still arrives.
///
/// Not to decode by: the child reads the whole header again, with the codec itself. A file that declares what it does
/// not hold is caught there.
package enum DeclaredSize: Sendable, Equatable {
    /// Width and height in pixels, as stored.
    case pixels(width: Int, height: Int)
    /// The size stands further on.
    case later
    /// The format, or this file, declares none that could be read here.
    case unknown

    /// What `bytes`, a file of `format` from its beginning, declare.
    package init(_ bytes: UnsafeRawBufferPointer, format: ImageFormat) {
        self =
            switch format {
            case .png: Self.fixed(bytes, at: 16, 20, length: 4, bigEndian: true)
            case .gif: Self.fixed(bytes, at: 6, 8, length: 2, bigEndian: false)
            case .jpeg: Self.jpeg(bytes)
            case .webp: Self.webp(bytes)
            default: .unknown
            }
    }

    private static func number(
        _ bytes: UnsafeRawBufferPointer, at offset: Int, length: Int, bigEndian: Bool
    ) -> Int? {
        guard offset >= 0, offset + length <= bytes.count else { return nil }
        let digits = bytes[offset..<offset + length]
        return bigEndian
            ? digits.reduce(0) { $0 << 8 | Int($1) } : digits.reversed().reduce(0) { $0 << 8 | Int($1) }
    }

    private static func fixed(
        _ bytes: UnsafeRawBufferPointer, at width: Int, _ height: Int, length: Int, bigEndian: Bool
    ) -> DeclaredSize {
        guard let width = number(bytes, at: width, length: length, bigEndian: bigEndian),
            let height = number(bytes, at: height, length: length, bigEndian: bigEndian)
        else { return .later }
        return .pixels(width: width, height: height)
    }

    /// From one marker segment to the next, up to the frame's (ITU T.81, B.2.2).
    private static func jpeg(_ bytes: UnsafeRawBufferPointer) -> DeclaredSize {
        var offset = 2
        while true {
            guard let start = number(bytes, at: offset, length: 1, bigEndian: true) else { return .later }
            guard start == 0xFF else { return .unknown }
            guard let marker = number(bytes, at: offset + 1, length: 1, bigEndian: true) else { return .later }
            switch marker {
            case 0xFF: offset += 1  // filling
            case 0x01, 0xD0...0xD8: offset += 2  // without a length
            case 0xC0...0xC3, 0xC5...0xC7, 0xC9...0xCB, 0xCD...0xCF:
                return fixed(bytes, at: offset + 7, offset + 5, length: 2, bigEndian: true)
            case 0xD9, 0xDA: return .unknown  // end of picture, begin of a scan: no frame came before
            default:
                guard let length = number(bytes, at: offset + 2, length: 2, bigEndian: true) else { return .later }
                guard length >= 2 else { return .unknown }
                offset += 2 + length
            }
        }
    }

    /// By the first chunk of the container (RFC 9649).
    private static func webp(_ bytes: UnsafeRawBufferPointer) -> DeclaredSize {
        guard let chunk = number(bytes, at: 12, length: 4, bigEndian: true) else { return .later }
        switch chunk {
        case 0x5650_3858:  // VP8X: 24 bits each, less one
            guard case .pixels(let width, let height) = fixed(bytes, at: 24, 27, length: 3, bigEndian: false) else {
                return .later
            }
            return .pixels(width: width + 1, height: height + 1)
        case 0x5650_3820:  // VP8: 14 bits each, above them a scale
            guard case .pixels(let width, let height) = fixed(bytes, at: 26, 28, length: 2, bigEndian: false) else {
                return .later
            }
            return .pixels(width: width & 0x3FFF, height: height & 0x3FFF)
        case 0x5650_384C:  // VP8L: 14 bits each, less one, packed
            guard let packed = number(bytes, at: 21, length: 4, bigEndian: false) else { return .later }
            return .pixels(width: (packed & 0x3FFF) + 1, height: (packed >> 14 & 0x3FFF) + 1)
        default: return .unknown
        }
    }
}
