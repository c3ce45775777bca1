private import CVips
internal import ImageModel

extension LibvipsImage {
    /// With more contrast of lightness at edges; the alpha stays as it is.
    ///
    /// libvips compares a pixel with those around it, whatever their alpha. What is transparent is black, so that an
    /// outline would become lighter: it gets the colours around it first, and what sharpening changes in these is added
    /// to its own.
    func sharpened(_ sigma: Double, _ amount: Double) throws(CodecFailure) -> LibvipsImage {
        // In memory, because a resize reads overlapping strips of it, and would sharpen each again.
        guard hasAlpha else { return try LibvipsImage { larder_sharpen(pointer, $0, sigma, amount) }.inMemory() }
        let memory = try inMemory()
        let around = try memory.blurred(sigma).inMemory()
        guard memory.isByteRGB, memory.bands == 4, let own = larder_pixels(memory.pointer),
            around.bands == 4, let blurred = larder_pixels(around.pointer)
        else { throw CodecFailure.otherPixels }
        let filled = try memory.redrawn { raster in
            withExtendedLifetime(around) { raster.fillTransparency(from: blurred) }
        }
        let colors = try LibvipsImage { larder_without_alpha(filled.pointer, $0) }
        let sharp = try LibvipsImage { larder_sharpen(colors.pointer, $0, sigma, amount) }
        let alpha = try LibvipsImage { larder_byte_alpha(memory.pointer, $0) }
        let joined = try LibvipsImage { larder_join_bands(sharp.pointer, alpha.pointer, $0) }
        guard let before = larder_pixels(filled.pointer) else { throw CodecFailure.otherPixels }
        return try joined.redrawn { raster in
            withExtendedLifetime(memory) { withExtendedLifetime(filled) { raster.restoreColors(own, filled: before) } }
        }
    }

    /// Blurred by a Gaussian that reaches as far as sharpening does, on premultiplied pixels.
    private func blurred(_ sigma: Double) throws(CodecFailure) -> LibvipsImage {
        let premultiplied = try LibvipsImage { larder_premultiply(pointer, $0) }
        let rounded = try LibvipsImage { larder_gaussian_blur(premultiplied.pointer, $0, sigma) }.roundedStraight()
        return try LibvipsImage { larder_cast_byte(rounded.pointer, $0) }
    }
}
