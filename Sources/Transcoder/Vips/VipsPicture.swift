internal import CVips
internal import ImageModel

/// A picture of libvips: mostly a recipe, computed when its pixels are asked for.
///
/// Move-only, one reference each. The corresponding C type is `VipsImage`.
struct VipsPicture: ~Copyable {
    let image: UnsafeMutablePointer<VipsImage>

    /// Takes over what `body` puts into its out-pointer.
    ///
    /// - Throws: `VipsFailure` when it returns anything but 0.
    init(_ body: (UnsafeMutablePointer<UnsafeMutablePointer<VipsImage>?>) -> Int32) throws(VipsFailure) {
        var made: UnsafeMutablePointer<VipsImage>?
        guard body(&made) == 0, let made else {
            if let made { g_object_unref(made) }
            throw VipsFailure()
        }
        image = made
    }

    deinit { g_object_unref(image) }

    var size: PixelSize {
        PixelSize(width: Int(vips_image_get_width(image)), height: Int(vips_image_get_height(image)))
    }
    var bands: Int { Int(vips_image_get_bands(image)) }
    var hasAlpha: Bool { vips_image_hasalpha(image) != 0 }
    var isCMYK: Bool { vips_image_guess_interpretation(image) == VIPS_INTERPRETATION_CMYK }
    /// 8-bit RGB, taken for sRGB, with or without alpha.
    var isByteRGB: Bool {
        vips_image_guess_interpretation(image) == VIPS_INTERPRETATION_sRGB
            && vips_image_get_format(image) == VIPS_FORMAT_UCHAR
    }
    var frames: Int { Int(vips_image_get_n_pages(image)) }

    func hasField(_ name: String) -> Bool { vips_image_get_typeof(image, name) != 0 }

    /// The bytes of a field that holds some; nil without it.
    func bytes(_ name: String) -> [UInt8]? {
        var data: UnsafeRawPointer?
        var length = 0
        guard hasField(name), vips_image_get_blob(image, name, &data, &length) == 0, let data else { return nil }
        return Array(UnsafeRawBufferPointer(start: data, count: length))
    }

    /// The number in a field; nil without it.
    func integer(_ name: String) -> Int? {
        var value: Int32 = 0
        guard hasField(name), vips_image_get_int(image, name, &value) == 0 else { return nil }
        return Int(value)
    }

    /// The numbers in a field; empty without it.
    func integers(_ name: String) -> [Int] {
        var start: UnsafeMutablePointer<Int32>?
        var count: Int32 = 0
        guard hasField(name), vips_image_get_array_int(image, name, &start, &count) == 0, let start else { return [] }
        return UnsafeBufferPointer(start: start, count: Int(count)).map(Int.init)
    }

    /// The text in a field; nil without it.
    func text(_ name: String) -> String? {
        var text: UnsafePointer<CChar>?
        guard hasField(name), vips_image_get_string(image, name, &text) == 0, let text else { return nil }
        return String(cString: text)
    }

    /// The names of all fields.
    var fieldNames: [String] {
        guard let names = vips_image_get_fields(image) else { return [] }
        defer { g_strfreev(names) }
        return (0..<Int(g_strv_length(names))).compactMap { names[$0].map { String(cString: $0) } }
    }

    /// Computes all pixels into memory, where they can be read often and in any order.
    func inMemory() throws(VipsFailure) -> VipsPicture {
        try VipsPicture { (out) in
            out.pointee = vips_image_copy_memory(image)
            return out.pointee == nil ? -1 : 0
        }
    }
}
