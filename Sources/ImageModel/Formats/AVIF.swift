extension ImageFormat {
    /// AVIF, animated or not.
    public static let avif = ImageFormat(
        name: "avif", mediaType: "image/avif", acceptance: .byDefault,
        hasSignature: { prefix in
            ["avif", "avis"].contains { HEIFBrands.hasMain($0, in: prefix) }
                || HEIFBrands.isGeneral(prefix) && HEIFBrands.listAVIF(prefix)
        },
        declaredEnd: ISOBoxes.declaredEnd, parts: HEIFBrands.boxes, frames: .composed,
        decoding: DecodeCost(animatedNanoseconds: 35, margin: 1.5),
        // Effort 1 takes 0.1 to 0.2 µs a pixel.
        output: Output(
            defaultQuality: 50, maxPixels: 16_000_000, maxEdge: HEIFBrands.maxEdge, isKept: false, needsTrial: true,
            nanoseconds: 100))
}
