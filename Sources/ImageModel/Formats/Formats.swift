extension ImageFormat {
    /// BMP; recognised but never read.
    public static let bmp = ImageFormat(
        name: "bmp", mediaType: "image/bmp", sdImageFormat: .bmp, acceptance: .never,
        hasSignature: { $0.has("BM", at: 0) && $0.count >= 14 })

    /// GIF.
    public static let gif = ImageFormat(
        name: "gif", mediaType: "image/gif", sdImageFormat: .gif, acceptance: .byDefault,
        hasSignature: { $0.has("GIF87a", at: 0) || $0.has("GIF89a", at: 0) },
        declaredSize: { DeclaredSize($0.littleEndian(at: 6, length: 2), $0.littleEndian(at: 8, length: 2)) },
        frames: .all, limitReplacesThumbnail: true, decoding: DecodeCost(nanoseconds: 8),
        // Choosing 256 colours takes most of the time.
        output: Output(
            holdsFrames: true, holdsProfile: false, holdsCopyright: false, nanoseconds: 1600, animatedNanoseconds: 1300,
            frameNanoseconds: 7_500_000)
    )

    /// JPEG XL, as a codestream or in its container; on request.
    public static let jxl = ImageFormat(
        name: "jxl", mediaType: "image/jxl", acceptance: .onRequest,
        hasSignature: {
            $0.starts(with: [0xFF, 0x0A]) || $0.starts(with: [0, 0, 0, 12, 0x4A, 0x58, 0x4C, 0x20])
        },
        // Measured at effort 5 with libjxl 0.7: 160 ns without alpha, 270 with it.
        output: Output(
            defaultQuality: 75, holdsCopyright: false, isKept: false, hasOwnKey: true, nanoseconds: 200, bytes: 65))

    /// PDF, its first page; on request.
    public static let pdf = ImageFormat(
        name: "pdf", mediaType: "application/pdf", sdImageFormat: .pdf, acceptance: .onRequest,
        hasSignature: { $0.has("%PDF-", at: 0) }, isVector: true)

    /// PNG, animated or not.
    public static let png = ImageFormat(
        name: "png", mediaType: "image/png", sdImageFormat: .png, acceptance: .byDefault,
        hasSignature: { $0.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) },
        declaredSize: { DeclaredSize($0.bigEndian(at: 16), $0.bigEndian(at: 20)) },
        declaredEnd: PNGChunks.declaredEnd,
        // Each may contain 8 MB that libpng decompresses.
        parts: Parts(name: "compressed texts", limit: 30, count: PNGChunks.compressedTexts), frames: .composed,
        hasXMPOrientation: true, limitReplacesThumbnail: true,
        decoding: DecodeCost(bytes: 0.5, interlacedBytes: 8, nanoseconds: 19, animatedNanoseconds: 37),
        output: Output(holdsFrames: true, isStillByName: true, nanoseconds: 110))

    /// SVG; on request.
    public static let svg = ImageFormat(
        name: "svg", mediaType: "image/svg+xml", sdImageFormat: .svg, acceptance: .onRequest,
        hasSignature: { !HEIFBrands.isContainer($0) && $0.contains(bytes: "<svg") }, isVector: true)

    /// TIFF, its first page; on request.
    public static let tiff = ImageFormat(
        name: "tiff", mediaType: "image/tiff", sdImageFormat: .tiff, acceptance: .onRequest,
        hasSignature: {
            $0.starts(with: [0x49, 0x49, 0x2A, 0]) || $0.starts(with: [0x4D, 0x4D, 0, 0x2A])
        },
        output: Output(holdsCopyright: false, isKept: false, hasOwnKey: true, nanoseconds: 45))

    /// WebP, animated or not.
    public static let webp = ImageFormat(
        name: "webp", mediaType: "image/webp", sdImageFormat: .webp, acceptance: .byDefault,
        hasSignature: { $0.has("RIFF", at: 0) && $0.has("WEBP", at: 8) },
        declaredSize: webpSize, frames: .all, hasXMPOrientation: true, limitReplacesThumbnail: true,
        decoding: DecodeCost(bytes: 5, nanoseconds: 28, animatedNanoseconds: 35),
        output: Output(defaultQuality: 80, maxEdge: 16383, holdsFrames: true, nanoseconds: 100))

    /// From the container's first chunk (RFC 9649).
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
