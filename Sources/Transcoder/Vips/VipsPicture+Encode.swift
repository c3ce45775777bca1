private import CVips

/// The bytes of an encoded picture, in GLib's memory.
struct EncodedPicture: ~Copyable {
    let bytes: UnsafeRawBufferPointer

    fileprivate init(_ body: (UnsafeMutablePointer<UnsafeMutableRawPointer?>, UnsafeMutablePointer<Int>) -> Int32)
        throws(VipsFailure)
    {
        var start: UnsafeMutableRawPointer?
        var length = 0
        guard body(&start, &length) == 0 else {
            g_free(start)
            throw VipsFailure()
        }
        bytes = UnsafeRawBufferPointer(start: start, count: length)
    }

    /// Takes over bytes of our own making.
    fileprivate init(copying bytes: [UInt8]) {
        let start = g_memdup2(bytes, gsize(bytes.count))
        self.bytes = UnsafeRawBufferPointer(start: start, count: bytes.count)
    }

    deinit { g_free(UnsafeMutableRawPointer(mutating: bytes.baseAddress)) }
}

extension VipsPicture {
    /// Encodes the picture, with no metadata; onto white where the format has no transparency.
    ///
    /// - Parameter quality: 0…100; formats without one ignore it.
    func encoded(_ format: ImageFormat, quality: Int?) throws(VipsFailure) -> EncodedPicture {
        let bare = try withoutMetadata()
        let value = Int32(quality ?? OutputFormat.defaultQuality(format) ?? 0)
        switch format {
        case .jpeg:
            let opaque = hasAlpha ? try VipsPicture { larder_flatten_white(bare.image, $0) } : try bare.copy()
            return try EncodedPicture { larder_jpeg_save(opaque.image, max(1, value), $0, $1) }
        case .png: return try EncodedPicture { larder_png_save(bare.image, $0, $1) }
        case .gif: return try EncodedPicture { larder_gif_save(bare.image, $0, $1) }
        case .webp:
            let file = try EncodedPicture { larder_webp_save(bare.image, value, $0, $1) }
            guard let clean = WebPContainer.withoutMetadata(file.bytes) else { throw VipsFailure() }
            return EncodedPicture(copying: clean)
        case .heic, .heif: return try EncodedPicture { larder_heic_save(bare.image, max(1, value), $0, $1) }
        case .avif, .tiff, .svg, .jxl, .pdf, .bmp: return try EncodedPicture { _, _ in -1 }
        }
    }

    /// A copy with every field removed that can be: EXIF, XMP, IPTC, profiles, comments, whatever a loader brought.
    ///
    /// By hand, as `webpsave` of libvips 8.14.1 ignores `strip`. The pixels are in sRGB by now.
    private func withoutMetadata() throws(VipsFailure) -> VipsPicture {
        let bare = try copy()
        for name in bare.fieldNames { vips_image_remove(bare.image, name) }
        return bare
    }
}
