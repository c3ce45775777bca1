private import CVips
private import Glibc
internal import ImageModel

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
        if hasProfileToApply {
            // A profile that is broken is no reason to lose the picture: its numbers are taken for sRGB.
            if let converted = try? VipsPicture({ larder_icc_to_srgb(image, $0, "srgb") }) {
                return try converted.asByteRGB()
            }
            vips_error_clear()
        }
        return try asByteRGB()
    }

    /// Whether a profile is embedded that fits the kind of picture and is not sRGB.
    var hasProfileToApply: Bool {
        guard let profile = bytes("icc-profile-data"), !ICCProfile.isSRGB(profile) else { return false }
        let colours = hasAlpha ? bands - 1 : bands
        return ICCProfile.space(profile) == (colours >= 3 ? "RGB " : "GRAY")
    }

    /// 8 bits, three bands or four, whatever the profile says.
    func asByteRGB() throws(VipsFailure) -> VipsPicture {
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
            let withAlpha = try withAlpha()
            return try VipsPicture {
                larder_place(withAlpha.image, $0, Int32(x), Int32(y), Int32(canvas.width), Int32(canvas.height))
            }
        case .clear(let canvas):
            return try VipsPicture { larder_clear($0, Int32(canvas.width), Int32(canvas.height)) }
        case .mirror(let horizontal, let vertical):
            // Both at once are half a turn.
            if horizontal && vertical { return try drawn(.quarters(2)) }
            let memory = try inMemory()
            return try VipsPicture { larder_mirror(memory.image, $0, vertical ? 1 : 0) }
        case .quarters(let count):
            let memory = try inMemory()
            return try VipsPicture { larder_quarter_turn(memory.image, $0, Int32(4 - count)) }
        case .turn(let radians, let canvas): return try turned(radians, onto: canvas)
        case .round(let frame): return try redrawn { $0.round(frame) }
        case .tint(let color, let mode): return try redrawn { $0.tint(color, mode) }
        case .blur(let box): return try redrawn { $0.blur(box: box) }
        case .filter(let filter): return try redrawn { $0.filter(filter) }
        }
    }

    private func withAlpha() throws(VipsFailure) -> VipsPicture { try VipsPicture { larder_with_alpha(image, $0) } }

    /// Turned counter-clockwise about the centre, onto a canvas with the same centre.
    private func turned(_ radians: Double, onto canvas: PixelSize) throws(VipsFailure) -> VipsPicture {
        let memory = try withAlpha().inMemory()
        let premultiplied = try VipsPicture { larder_premultiply(memory.image, $0) }
        // Room around it, so that its edges are interpolated towards transparency.
        let (room, size) = (2, size)
        let placed = try VipsPicture {
            larder_place(
                premultiplied.image, $0, Int32(room), Int32(room), Int32(size.width + 2 * room),
                Int32(size.height + 2 * room))
        }
        let (cosine, sine) = (cos(radians), sin(radians))
        let matrix = [cosine, sine, -sine, cosine]
        // libvips counts from the centre of the first pixel.
        let (middleX, middleY) = (Double(size.width - 1) / 2 + Double(room), Double(size.height - 1) / 2 + Double(room))
        let x = Double(canvas.width - 1) / 2 - (matrix[0] * middleX + matrix[1] * middleY)
        let y = Double(canvas.height - 1) / 2 - (matrix[2] * middleX + matrix[3] * middleY)
        let turned = try VipsPicture {
            larder_affine(placed.image, $0, matrix, x, y, Int32(canvas.width), Int32(canvas.height))
        }
        let straight = try VipsPicture { larder_unpremultiply(turned.image, $0) }
        let rounded = try VipsPicture { larder_round(straight.image, $0) }
        return try VipsPicture { larder_cast_byte(rounded.image, $0) }
    }

    /// Changed pixel by pixel, in memory, as RGBA.
    func redrawn(_ change: (Raster) -> Void) throws(VipsFailure) -> VipsPicture {
        let withAlpha = try withAlpha()
        let memory = try VipsPicture { larder_into_memory(withAlpha.image, $0) }
        let size = size
        guard memory.bands == 4, memory.isByteRGB, let start = larder_pixels(memory.image) else { throw VipsFailure() }
        change(
            Raster(
                UnsafeMutableBufferPointer(start: start, count: size.area * 4), width: size.width, height: size.height))
        return memory
    }

    /// Without the alpha channel that a step gave it, where the plan says that all is opaque.
    func opaque() throws(VipsFailure) -> VipsPicture {
        hasAlpha ? try VipsPicture { larder_without_alpha(image, $0) } : try copy()
    }

    /// Another picture over the same pixels.
    func copy() throws(VipsFailure) -> VipsPicture {
        try VipsPicture { larder_copy(image, $0) }
    }
}
