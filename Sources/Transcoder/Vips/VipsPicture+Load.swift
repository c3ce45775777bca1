private import CVips
internal import ImageModel

extension VipsPicture {
    /// Opens a picture of a known format; no pixel is read yet. `bytes` must outlive the picture.
    ///
    /// - Parameters:
    ///   - shrink: libjpeg's shrinking while it decodes, 1, 2, 4 or 8; other formats ignore it.
    ///   - frames: of GIF and WebP, one below another; -1 for all.
    /// - Throws: `VipsFailure` also for a format there is no loader for.
    init(_ format: ImageFormat, _ bytes: UnsafeRawBufferPointer, shrink: Int = 1, frames: Int = 1) throws(VipsFailure) {
        let (start, length) = (bytes.baseAddress, bytes.count)
        try self.init { (out) in
            switch format {
            case .jpeg: larder_jpeg_load(start, length, Int32(shrink), out)
            case .png: larder_png_load(start, length, out)
            case .gif: larder_gif_load(start, length, Int32(frames), out)
            case .webp: larder_webp_load(start, length, Int32(frames), out)
            case .heic, .heif, .avif: larder_heif_load(start, length, out)
            // Blocked unless `VipsLibrary.admit` has let them in.
            case .tiff: larder_tiff_load(start, length, out)
            case .svg: larder_svg_load(start, length, out)
            case .jxl: larder_jxl_load(start, length, out)
            case .pdf: larder_pdf_load(start, length, out)
            case .bmp: -1
            }
        }
    }

    /// What the opened picture says of itself.
    func header(_ format: ImageFormat, _ bytes: UnsafeRawBufferPointer) -> SourceHeader {
        var header = SourceHeader(
            format: format, width: size.width, height: size.height, orientation: orientation(format),
            hasAlpha: hasAlpha, isInterlaced: hasField("jpeg-multiscan") || hasField("interlaced"))
        switch format {
        case .png: header.frames = AnimatedPNG.frames(bytes)
        case .gif, .webp: header.frames = frames
        // A HEIF container may hold many pictures; none of them is a frame.
        default: break
        }
        if header.isAnimated && format != .png {
            header.loopCount = FrameTiming.loopCount(integer("loop") ?? 0, of: format)
            header.frameMilliseconds = FrameTiming.milliseconds(integers("delay"), frames: header.frames)
        }
        header.hasOwnProfile = hasOwnProfile
        header.hasPlanes = !hasProfileToApply && PlanarPicture.isDecoded(in: bytes, format)
        return header
    }

    /// Whether the colours are RGB of an embedded profile that is not sRGB.
    private var hasOwnProfile: Bool {
        let colours = hasAlpha ? bands - 1 : bands
        guard colours == 3, !isCMYK, let profile = bytes("icc-profile-data") else { return false }
        return ICCProfile.space(profile) == "RGB " && !ICCProfile.isSRGB(profile)
    }

    /// By EXIF, else by XMP; libheif has turned its pictures already.
    private func orientation(_ format: ImageFormat) -> Int {
        if hasField("orientation") {
            let value = Int(vips_image_get_orientation(image))
            return (1...8).contains(value) ? value : 1
        }
        switch format {
        case .jpeg, .png, .webp: return bytes("xmp-data").flatMap(XMPOrientation.read) ?? 1
        default: return 1
        }
    }
}
