extension ImageFormat {
    /// WebP, animated or not.
    public static let webp = ImageFormat(
        name: "webp", mediaType: "image/webp", sdImageFormat: .webp, acceptance: .byDefault,
        hasSignature: { $0.has("RIFF", at: 0) && $0.has("WEBP", at: 8) },
        declaredSize: webpSize, frames: .all, hasXMPOrientation: true, limitReplacesThumbnail: true,
        decoding: DecodeCost(bytes: 5, nanoseconds: 28, animatedNanoseconds: 35),
        output: Output(defaultQuality: 80, maxEdge: 16383, holdsFrames: true, nanoseconds: 100))

    /// From the first chunk of the container (RFC 9649).
    @Sendable private static func webpSize(_ bytes: UnsafeRawBufferPointer) -> DeclaredSize {
        guard bytes.count >= 16 else { return .later }
        if bytes.has("VP8X", at: 12) {  // 24 bits each, less one
            return DeclaredSize(
                bytes.littleEndian(at: 24, length: 3).map { $0 + 1 },
                bytes.littleEndian(at: 27, length: 3).map { $0 + 1 })
        }
        if bytes.has("VP8 ", at: 12) {  // 14 bits each, and 2 of scale
            return DeclaredSize(
                bytes.littleEndian(at: 26, length: 2).map { $0 & 0x3FFF },
                bytes.littleEndian(at: 28, length: 2).map { $0 & 0x3FFF })
        }
        if bytes.has("VP8L", at: 12) {  // 14 bits each, less one, packed
            let packed = bytes.littleEndian(at: 21)
            return DeclaredSize(packed.map { ($0 & 0x3FFF) + 1 }, packed.map { ($0 >> 14 & 0x3FFF) + 1 })
        }
        return .unknown
    }
}
