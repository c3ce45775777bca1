extension ImageFormat {
    /// SVG; on request.
    public static let svg = ImageFormat(
        "svg", mediaType: "image/svg+xml", sdImageFormat: .svg, .onRequest,
        hasSignature: { !HEIFBrands.isContainer($0) && $0.contains(bytes: "<svg") })
}
