extension ImageFormat {
    /// PNG, animated or not.
    public static let png = ImageFormat(
        name: "png", mediaType: "image/png", sdImageFormat: .png, acceptance: .byDefault,
        hasSignature: { $0.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) },
        declaredSize: { DeclaredSize($0.bigEndian(at: 16), $0.bigEndian(at: 20)) },
        declaredEnd: PNGChunks.declaredEnd,
        // Each may hold 8 MB, which libpng decompresses.
        parts: Parts(name: "compressed texts", limit: 30, count: PNGChunks.compressedTexts), frames: .composed,
        hasXMPOrientation: true, limitReplacesThumbnail: true,
        decoding: DecodeCost(bytes: 0.5, interlacedBytes: 8, nanoseconds: 19, animatedNanoseconds: 37),
        output: Output(holdsFrames: true, isStillByName: true, nanoseconds: 110))
}
