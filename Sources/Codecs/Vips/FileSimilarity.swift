internal import ImageModel

/// Compares files with the pixels that they were encoded from.
struct FileSimilarity {
    private let reference: StructuralSimilarity

    init(_ drawn: any DrawnImage, _ encoding: Encoding) throws(CodecFailure) {
        let size = drawn.size, pixels = try drawn.rawRGBA()
        guard pixels.bytes.count == size.area * 4 else { throw CodecFailure.otherPixels }
        let color = encoding.background.map { SIMD4($0.red, $0.green, $0.blue, $0.alpha) } ?? SIMD4(repeating: 1)
        // A colour that is not opaque is composited on white, as when the file is written.
        let onWhite = (color * color.w + (1 - color.w)) * 255
        let background = SIMD3(Float(onWhite.x), Float(onWhite.y), Float(onWhite.z))
        reference = withExtendedLifetime(pixels) {
            StructuralSimilarity(pixels.bytes, width: size.width, height: size.height, background: background)
        }
    }

    /// The structural similarity of a file, decoded as an app would.
    func value(_ file: EncodedFile, _ encoding: Encoding) throws(CodecFailure) -> Double {
        let decoded = try LibvipsImage(written: encoding.format, file.bytes)
        let pixels = try (encoding.keepICC ? decoded.asByteRGB() : decoded.inSRGB()).rawRGBA()
        guard let value = withExtendedLifetime((pixels, file), { reference.value(pixels.bytes) }) else {
            throw CodecFailure.otherPixels
        }
        return value
    }
}
