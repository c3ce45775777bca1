private import CVips

extension VipsPicture {
    /// Resampled to exactly `size`, on premultiplied pixels where there is alpha.
    func scaled(to size: PixelSize) throws(VipsFailure) -> VipsPicture {
        let horizontal = Double(size.width) / Double(self.size.width)
        let vertical = Double(size.height) / Double(self.size.height)
        guard hasAlpha else {
            return try VipsPicture { larder_resize(image, $0, horizontal, vertical) }
        }
        let premultiplied = try VipsPicture { larder_premultiply(image, $0) }
        let resized = try VipsPicture { larder_resize(premultiplied.image, $0, horizontal, vertical) }
        let straight = try VipsPicture { larder_unpremultiply(resized.image, $0) }
        let rounded = try VipsPicture { larder_round(straight.image, $0) }
        // 16-bit pictures stay so here: they become 8-bit once, in sRGB.
        return try VipsPicture { larder_cast_like(rounded.image, $0, image) }
    }

    /// 8-bit sRGB, three bands or four: by the embedded profile where that is not sRGB itself.
    ///
    /// CMYK without a profile is taken for the one built into libvips.
    func inSRGB() throws(VipsFailure) -> VipsPicture {
        if isCMYK { return try VipsPicture { larder_icc_to_srgb(image, $0, "cmyk") } }
        let colours = hasAlpha ? bands - 1 : bands
        if let profile = bytes("icc-profile-data"), !ICCProfile.isSRGB(profile) {
            let fits = ICCProfile.space(profile) == (colours >= 3 ? "RGB " : "GRAY")
            // A profile that is broken otherwise is no reason to lose the picture: its numbers are taken for sRGB.
            if fits, let converted = try? VipsPicture({ larder_icc_to_srgb(image, $0, "srgb") }) {
                return try converted.asByteRGB()
            }
            vips_error_clear()
        }
        return try asByteRGB()
    }

    private func asByteRGB() throws(VipsFailure) -> VipsPicture {
        if isByteRGB && bands <= 4 { return try copy() }
        let converted = try VipsPicture { larder_to_srgb(image, $0) }
        let bytes = try VipsPicture { larder_cast_byte(converted.image, $0) }
        return bytes.bands <= 4 ? bytes : try VipsPicture { larder_first_bands(bytes.image, $0, 4) }
    }

    /// Upright, from one of EXIF's eight orientations; needs pixels in memory.
    func upright(from orientation: Int) throws(VipsFailure) -> VipsPicture {
        let marked = try copy()
        vips_image_set_int(marked.image, "orientation", Int32(orientation))
        return try VipsPicture { larder_upright(marked.image, $0) }
    }

    /// One step of a drawing.
    func drawn(_ step: DrawStep) throws(VipsFailure) -> VipsPicture {
        switch step {
        case .scale(let size):
            return size == self.size ? try copy() : try scaled(to: size)
        case .crop(let rect):
            return try VipsPicture {
                larder_crop(image, $0, Int32(rect.x), Int32(rect.y), Int32(rect.width), Int32(rect.height))
            }
        case .place(let x, let y, let canvas):
            let withAlpha = try VipsPicture { larder_with_alpha(image, $0) }
            return try VipsPicture {
                larder_place(withAlpha.image, $0, Int32(x), Int32(y), Int32(canvas.width), Int32(canvas.height))
            }
        case .clear(let canvas):
            return try VipsPicture { larder_clear($0, Int32(canvas.width), Int32(canvas.height)) }
        }
    }

    /// Another picture over the same pixels.
    func copy() throws(VipsFailure) -> VipsPicture {
        try VipsPicture { larder_copy(image, $0) }
    }
}
