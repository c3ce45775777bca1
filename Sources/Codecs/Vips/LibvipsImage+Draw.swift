private import CVips
private import Glibc
internal import ImageModel

extension LibvipsImage {
    /// Resampled to exactly `size`, premultiplied if there is alpha.
    func scaled(to size: PixelSize) throws(CodecFailure) -> LibvipsImage {
        let horizontal = Double(size.width) / Double(self.size.width)
        let vertical = Double(size.height) / Double(self.size.height)
        guard hasAlpha else {
            return try LibvipsImage { larder_resize(pointer, $0, horizontal, vertical) }
        }
        let premultiplied = try LibvipsImage { larder_premultiply(pointer, $0) }
        let rounded = try LibvipsImage { larder_resize(premultiplied.pointer, $0, horizontal, vertical) }
            .roundedStraight()
        // 16-bit images stay 16-bit here: they become 8-bit once, in sRGB.
        return try rounded.asFormat(of: self)
    }

    /// In the number format of another image.
    func asFormat(of other: borrowing LibvipsImage) throws(CodecFailure) -> LibvipsImage {
        try LibvipsImage { larder_cast_like(pointer, $0, other.pointer) }
    }

    /// Straight alpha from premultiplied, rounded to whole numbers.
    func roundedStraight() throws(CodecFailure) -> LibvipsImage {
        let straight = try LibvipsImage { larder_unpremultiply(pointer, $0) }
        return try LibvipsImage { larder_round(straight.pointer, $0) }
    }

    /// 8-bit sRGB with three or four bands, converted by an embedded profile other than sRGB.
    ///
    /// CMYK without a profile uses libvips' built-in one.
    func inSRGB() throws(CodecFailure) -> LibvipsImage {
        if isCMYK { return try convertedByProfile(fallback: "cmyk") }
        if profileToApply != nil {
            // With a broken profile, treat the numbers as sRGB.
            if let converted = try? colorsConvertedByProfile() { return try converted.asByteRGB() }
        }
        return try asByteRGB()
    }

    /// Converts only the colours: libvips 8.14.1 clips a 16-bit alpha to 255 instead of scaling it.
    private func colorsConvertedByProfile() throws(CodecFailure) -> LibvipsImage {
        guard hasAlpha else { return try convertedByProfile(fallback: "srgb") }
        let colors = try LibvipsImage { larder_without_alpha(pointer, $0) }
        let converted = try colors.convertedByProfile(fallback: "srgb")
        let alpha = try LibvipsImage { larder_byte_alpha(pointer, $0) }
        return try LibvipsImage { larder_join_bands(converted.pointer, alpha.pointer, $0) }
    }

    /// Without a table for the relative intent, libvips 8.14.1 would convert nothing.
    private func convertedByProfile(fallback: String) throws(CodecFailure) -> LibvipsImage {
        let isPerceptual = bytes("icc-profile-data").map(ICCProfile.isPerceptualOnly) ?? false
        return try LibvipsImage { larder_icc_to_srgb(pointer, $0, fallback, isPerceptual ? 1 : 0) }
    }

    /// The embedded profile; nil if there is none, it is sRGB, or it does not fit the number of bands.
    var profileToApply: [UInt8]? {
        guard let profile = bytes("icc-profile-data"), !ICCProfile.isSRGB(profile) else { return nil }
        let colours = hasAlpha ? bands - 1 : bands
        return ICCProfile.space(profile) == (colours >= 3 ? "RGB " : "GRAY") ? profile : nil
    }

    /// 8 bits, three or four bands; ignores the profile.
    func asByteRGB() throws(CodecFailure) -> LibvipsImage {
        if isByteRGB && bands <= 4 { return try copy() }
        let converted = try LibvipsImage { larder_to_srgb(pointer, $0) }
        let bytes = try LibvipsImage { larder_cast_byte(converted.pointer, $0) }
        return bytes.bands <= 4 ? bytes : try LibvipsImage { larder_first_bands(bytes.pointer, $0, 4) }
    }

    /// Upright, from an EXIF orientation; needs pixels in memory.
    func upright(from orientation: Int) throws(CodecFailure) -> LibvipsImage {
        let marked = try copy()
        vips_image_set_int(marked.pointer, "orientation", Int32(orientation))
        return try LibvipsImage { larder_upright(marked.pointer, $0) }
    }

    /// Applies one step of a drawing.
    ///
    /// - Parameter watermarks: its watermarks' images; nil for a step without one.
    func drawn(_ step: DrawStep, _ watermarks: WatermarkImages? = nil) throws(CodecFailure) -> LibvipsImage {
        switch step {
        case .trim(let trim): return try trimmed(trim)
        case .scale(let size): return size == self.size ? try copy() : try scaled(to: size)
        case .crop(let rect):
            return try LibvipsImage {
                larder_crop(pointer, $0, Int32(rect.x), Int32(rect.y), Int32(rect.width), Int32(rect.height))
            }
        case .smartCrop(let size, let interest):
            let memory = try inMemory()
            return try memory.drawn(.crop(memory.part(size, interest)))
        case .extend(let x, let y, let canvas, let color): return try extended(x, y, canvas, color)
        case .watermark(let watermark, let margin):
            guard let watermarks else { throw CodecFailure(message: "there are no watermarks") }
            return try marked(watermark, margin: margin, watermarks)
        case .sharpen(let sigma, let amount): return try sharpened(sigma, amount)
        case .embed(let x, let y, let canvas): return try withAlpha().embedded(x, y, canvas)
        case .clear(let canvas):
            return try LibvipsImage { larder_clear($0, Int32(canvas.width), Int32(canvas.height)) }
        case .mirror(let horizontal, let vertical):
            // Both are a rotation by 180°.
            if horizontal && vertical { return try drawn(.rot90(2)) }
            let memory = try inMemory()
            return try LibvipsImage { larder_mirror(memory.pointer, $0, vertical ? 1 : 0) }
        case .rot90(let count):
            let memory = try inMemory()
            return try LibvipsImage { larder_rot90(memory.pointer, $0, Int32(4 - count)) }
        case .rotate(let radians, let canvas): return try rotated(radians, onto: canvas)
        case .round(let frame): return try redrawn { $0.round(frame) }
        case .tint(let color, let mode): return try redrawn { $0.tint(color, mode) }
        case .blur(let box): return try redrawn { $0.blur(box: box) }
        case .filter(let filter): return try redrawn { $0.filter(filter) }
        }
    }

    /// The most interesting part of a given size, for an image in memory.
    func part(_ size: PixelSize, _ interest: Gravity.Interest) throws(CodecFailure) -> PixelRect {
        let found = try LibvipsImage {
            larder_smart_crop(pointer, $0, Int32(size.width), Int32(size.height), interest == .entropy ? 1 : 0)
        }
        // libvips returns the position of the whole image relative to the part.
        return PixelRect(
            x: -Int(vips_image_get_xoffset(found.pointer)), y: -Int(vips_image_get_yoffset(found.pointer)),
            width: size.width, height: size.height)
    }

    private func withAlpha() throws(CodecFailure) -> LibvipsImage {
        try LibvipsImage { larder_with_alpha(pointer, $0) }
    }

    /// Adds one alpha byte per pixel, row by row, to an image without alpha.
    func withAlpha(_ alpha: [UInt8]) throws(CodecFailure) -> LibvipsImage {
        let size = size
        let band = try LibvipsImage { out in
            alpha.withUnsafeBytes {
                larder_from_bytes($0.baseAddress, Int32(size.width), Int32(size.height), 1, out)
            }
        }
        return try LibvipsImage { larder_join_bands(pointer, band.pointer, $0) }
    }

    private func embedded(_ x: Int, _ y: Int, _ canvas: PixelSize) throws(CodecFailure) -> LibvipsImage {
        try LibvipsImage {
            larder_embed(pointer, $0, Int32(x), Int32(y), Int32(canvas.width), Int32(canvas.height))
        }
    }

    private func extended(_ x: Int, _ y: Int, _ canvas: PixelSize, _ color: Color) throws(CodecFailure) -> LibvipsImage
    {
        let image = color.alpha < 1 ? try withAlpha() : try copy()
        let components = [color.red, color.green, color.blue, color.alpha].map { $0 * 255 }
        return try LibvipsImage {
            larder_extend(
                image.pointer, $0, Int32(x), Int32(y), Int32(canvas.width), Int32(canvas.height), components,
                Int32(image.bands))
        }
    }

    /// Rotated counter-clockwise about the centre, onto a canvas with the same centre.
    private func rotated(_ radians: Double, onto canvas: PixelSize) throws(CodecFailure) -> LibvipsImage {
        let memory = try withAlpha().inMemory()
        let premultiplied = try LibvipsImage { larder_premultiply(memory.pointer, $0) }
        // With a margin, edges are interpolated towards transparency.
        let (margin, size) = (2, size)
        let padded = try premultiplied.embedded(
            margin, margin, PixelSize(width: size.width + 2 * margin, height: size.height + 2 * margin))
        let (cosine, sine) = (cos(radians), sin(radians))
        let matrix = [cosine, sine, -sine, cosine]
        // libvips counts from the centre of the first pixel.
        let centre = (
            x: Double(size.width - 1) / 2 + Double(margin), y: Double(size.height - 1) / 2 + Double(margin)
        )
        let x = Double(canvas.width - 1) / 2 - (matrix[0] * centre.x + matrix[1] * centre.y)
        let y = Double(canvas.height - 1) / 2 - (matrix[2] * centre.x + matrix[3] * centre.y)
        let rounded = try LibvipsImage {
            larder_affine(padded.pointer, $0, matrix, x, y, Int32(canvas.width), Int32(canvas.height))
        }.roundedStraight()
        // In memory: a resize reads overlapping strips and would rotate their pixels again.
        return try LibvipsImage { larder_cast_byte(rounded.pointer, $0) }.inMemory()
    }

    /// Changed in memory, as RGBA.
    func redrawn(_ change: (Raster) -> Void) throws(CodecFailure) -> LibvipsImage {
        let withAlpha = try withAlpha()
        let memory = try LibvipsImage { larder_into_memory(withAlpha.pointer, $0) }
        let size = size
        guard memory.bands == 4, memory.isByteRGB, let start = larder_pixels(memory.pointer) else {
            throw CodecFailure.otherPixels
        }
        change(
            Raster(
                UnsafeMutableBufferPointer(start: start, count: size.area * 4), width: size.width, height: size.height))
        return memory
    }

    /// Without the alpha that a step added, if the plan says that the result is opaque.
    func opaque() throws(CodecFailure) -> LibvipsImage {
        hasAlpha ? try LibvipsImage { larder_without_alpha(pointer, $0) } : try copy()
    }

    /// Raises the contrast of lightness at edges; alpha is unchanged.
    ///
    /// libvips compares a pixel with its neighbours regardless of alpha. Transparent pixels are black and would lighten
    /// an outline, so they first get the surrounding colours, and sharpening's changes to these are added to their own.
    func sharpened(_ sigma: Double, _ amount: Double) throws(CodecFailure) -> LibvipsImage {
        // In memory: a resize reads overlapping strips and would sharpen each again.
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

    /// Blurred by a Gaussian with the reach of sharpening, on premultiplied pixels.
    private func blurred(_ sigma: Double) throws(CodecFailure) -> LibvipsImage {
        let premultiplied = try LibvipsImage { larder_premultiply(pointer, $0) }
        let rounded = try LibvipsImage { larder_gaussian_blur(premultiplied.pointer, $0, sigma) }.roundedStraight()
        return try LibvipsImage { larder_cast_byte(rounded.pointer, $0) }
    }
}
