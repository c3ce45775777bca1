internal import CVips
internal import ImageModel

/// An image of libvips, with pixels computed when read. Owns one reference of a `VipsImage`.
struct LibvipsImage: ~Copyable {
    let pointer: UnsafeMutablePointer<VipsImage>

    /// Takes over the image that `body` puts into its out-pointer.
    ///
    /// - Throws: `CodecFailure` if `body` does not return 0.
    init(_ body: (UnsafeMutablePointer<UnsafeMutablePointer<VipsImage>?>) -> Int32) throws(CodecFailure) {
        var made: UnsafeMutablePointer<VipsImage>?
        do throws(CodecFailure) {
            try CodecFailure.check { body(&made) == 0 && made != nil }
        } catch {
            if let made { g_object_unref(made) }
            throw error
        }
        guard let made else { throw CodecFailure.otherPixels }
        pointer = made
    }

    /// 8-bit sRGB pixels.
    ///
    /// - Parameters:
    ///   - bands: 3, or 4 with straight alpha.
    ///   - fill: writes every sample, row by row from the top.
    /// - Throws: `CodecFailure` if out of memory.
    init(
        width: Int, height: Int, bands: Int, _ fill: (UnsafeMutablePointer<UInt8>) -> Void
    ) throws(CodecFailure) {
        let made = try LibvipsImage { larder_new_pixels($0, Int32(width), Int32(height), Int32(bands)) }
        guard let start = larder_pixels(made.pointer) else { throw CodecFailure.memory }
        fill(start)
        self = made
    }

    /// The pixels of planes, in sRGB.
    init(_ planes: PlanarImage) throws(CodecFailure) {
        let image = try planes.inRGB(), size = image.size
        try self.init(width: size.width, height: size.height, bands: image.alpha == nil ? 3 : 4, image.copyPixels)
    }

    deinit { g_object_unref(pointer) }

    var size: PixelSize {
        PixelSize(width: Int(vips_image_get_width(pointer)), height: Int(vips_image_get_height(pointer)))
    }
    var bands: Int { Int(vips_image_get_bands(pointer)) }
    var hasAlpha: Bool { vips_image_hasalpha(pointer) != 0 }
    var isCMYK: Bool { vips_image_guess_interpretation(pointer) == VIPS_INTERPRETATION_CMYK }
    /// Whether the pixels are 8-bit RGB, treated as sRGB, with or without alpha.
    var isByteRGB: Bool {
        vips_image_guess_interpretation(pointer) == VIPS_INTERPRETATION_sRGB
            && vips_image_get_format(pointer) == VIPS_FORMAT_UCHAR
    }
    var frames: Int { Int(vips_image_get_n_pages(pointer)) }

    func hasField(_ name: String) -> Bool { vips_image_get_typeof(pointer, name) != 0 }

    func bytes(_ name: String) -> [UInt8]? {
        var data: UnsafeRawPointer?
        var length = 0
        guard hasField(name), vips_image_get_blob(pointer, name, &data, &length) == 0, let data else { return nil }
        return Array(UnsafeRawBufferPointer(start: data, count: length))
    }

    func integer(_ name: String) -> Int? {
        var value: Int32 = 0
        guard hasField(name), vips_image_get_int(pointer, name, &value) == 0 else { return nil }
        return Int(value)
    }

    /// Empty if missing.
    func integers(_ name: String) -> [Int] {
        var start: UnsafeMutablePointer<Int32>?
        var count: Int32 = 0
        guard hasField(name), vips_image_get_array_int(pointer, name, &start, &count) == 0, let start else { return [] }
        return UnsafeBufferPointer(start: start, count: Int(count)).map(Int.init)
    }

    func text(_ name: String) -> String? {
        var text: UnsafePointer<CChar>?
        guard hasField(name), vips_image_get_string(pointer, name, &text) == 0, let text else { return nil }
        return String(cString: text)
    }

    var fieldNames: [String] {
        guard let names = vips_image_get_fields(pointer) else { return [] }
        defer { g_strfreev(names) }
        return (0..<Int(g_strv_length(names))).compactMap { names[$0].map { String(cString: $0) } }
    }

    /// Another image over the same pixels.
    func copy() throws(CodecFailure) -> LibvipsImage { try LibvipsImage { larder_copy(pointer, $0) } }

    /// Computes all pixels into memory, for repeated reads in any order.
    func inMemory() throws(CodecFailure) -> LibvipsImage {
        try LibvipsImage { (out) in
            out.pointee = vips_image_copy_memory(pointer)
            return out.pointee == nil ? -1 : 0
        }
    }
}
