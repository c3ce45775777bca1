private import CVips
internal import ImageModel

extension PlanarImage {
    /// The image in sRGB, from the profile of its colours; nil is sRGB. Curves and a matrix are applied to the planes,
    /// tables by libvips. The planes may be changed.
    func inSRGB(from profile: [UInt8]?) throws(CodecFailure) -> PlanarImage {
        guard let profile else { return self }
        if let matrix = MatrixProfile(profile) { return try matrix.converted(self) }
        let pixels = try LibvipsImage(self)
        vips_image_set_blob_copy(pixels.pointer, "icc-profile-data", profile, profile.count)
        let converted = try pixels.inSRGB().inMemory(), bands = alpha == nil ? 3 : 4
        guard converted.size == size, converted.isByteRGB, converted.bands == bands,
            let start = larder_pixels(converted.pointer)
        else { throw CodecFailure.otherPixels }
        let result = try PlanarImage(uninitialized: size, hasAlpha: alpha != nil)
        for y in 0..<size.height { result.fill(row: y, pixels: start + y * size.width * bands) }
        for plane in result.planes { plane.padEdges() }
        return result
    }
}
