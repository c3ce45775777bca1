extension ImageFormat {
    /// JPEG.
    public static let jpeg = ImageFormat(
        name: "jpeg", mediaType: "image/jpeg", sdImageFormat: .jpeg, acceptance: .byDefault,
        hasSignature: { $0.starts(with: [0xFF, 0xD8, 0xFF]) },
        declaredSize: jpegSize,
        // libjpeg walks its list of kept segments for each further one. A profile has up to 255, a large XMP packet one
        // per 64 KB.
        parts: Parts(name: "segments", limit: 5_000, count: jpegSegments), hasXMPOrientation: true,
        // A progressive file keeps all its coefficients, whatever the shrink factor.
        decoding: DecodeCost(
            bytes: 0.3, interlacedBytes: 6, nanoseconds: 4, interlacedNanoseconds: 8, shrinkableNanoseconds: 6),
        output: Output(defaultQuality: 80, holdsAlpha: false, nanoseconds: 12))

    /// Walks the marker segments up to the frame header (ITU T.81, B.2.2).
    @Sendable private static func jpegSize(_ bytes: UnsafeRawBufferPointer) -> DeclaredSize {
        var offset = 2
        while true {
            guard let start = bytes.bigEndian(at: offset, length: 1) else { return .later }
            guard start == 0xFF else { return .unknown }
            guard let marker = bytes.bigEndian(at: offset + 1, length: 1) else { return .later }
            switch marker {
            case 0xFF: offset += 1  // a fill byte
            case 0x01, 0xD0...0xD8: offset += 2  // a marker without a length
            case 0xC0...0xC3, 0xC5...0xC7, 0xC9...0xCB, 0xCD...0xCF:
                return DeclaredSize(
                    bytes.bigEndian(at: offset + 7, length: 2), bytes.bigEndian(at: offset + 5, length: 2))
            case 0xD9, 0xDA: return .unknown  // end of image or start of scan, without a frame header before
            default:
                guard let length = bytes.bigEndian(at: offset + 2, length: 2) else { return .later }
                guard length >= 2 else { return .unknown }
                offset += 2 + length
            }
        }
    }

    /// The marker segments up to the end of the image, including those between scans.
    @Sendable private static func jpegSegments(_ bytes: UnsafeRawBufferPointer) -> Int {
        var offset = 2, count = 0
        while count <= 5_000, offset + 4 <= bytes.count {
            guard bytes[offset] == 0xFF else {
                // A scan's data.
                offset += bytes[offset...].firstIndex(of: 0xFF).map { $0 - offset } ?? bytes.count
                continue
            }
            switch bytes[offset + 1] {
            case 0xFF: offset += 1
            case 0x00, 0x01, 0xD0...0xD8: offset += 2
            case 0xD9: return count
            default:
                count += 1
                offset += 2 + max(2, bytes.bigEndian(at: offset + 2, length: 2) ?? 2)
            }
        }
        return count
    }
}
