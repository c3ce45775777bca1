extension ImageFormat {
    /// TIFF, its first page; read on request.
    public static let tiff = ImageFormat(
        name: "tiff", mediaType: "image/tiff", sdImageFormat: .tiff, acceptance: .onRequest,
        hasSignature: {
            $0.starts(with: [0x49, 0x49, 0x2A, 0]) || $0.starts(with: [0x4D, 0x4D, 0, 0x2A])
        },
        output: Output(holdsCopyright: false, isKept: false, hasOwnKey: true, nanoseconds: 45))
}
