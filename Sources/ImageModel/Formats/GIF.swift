extension ImageFormat {
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
}
