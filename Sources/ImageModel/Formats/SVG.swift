extension ImageFormat {
    /// SVG; on request.
    public static let svg = ImageFormat(
        name: "svg", mediaType: "image/svg+xml", sdImageFormat: .svg, acceptance: .onRequest,
        hasSignature: { !HEIFBrands.isContainer($0) && $0.contains(bytes: "<svg") }, isVector: true)
}
