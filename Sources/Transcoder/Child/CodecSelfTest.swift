private import CVips
internal import ImageModel

extension CodecReport {
    /// The formats Larder has a saver for.
    fileprivate static let savers: [ImageFormat] = [.jpeg, .png, .gif, .webp, .avif, .heic]

    /// Tries every codec on a small picture: what a library's list of operations promises is not always there.
    ///
    /// - Parameter accepted: the formats let in.
    static func measured(accepted: Set<ImageFormat>) -> CodecReport {
        var writable: [ImageFormat] = []
        var strips: [String: Bool] = [:]
        var refusesTruncated: [String: Bool] = [:]
        for format in savers {
            guard let picture = try? marked(), let file = try? picture.encoded(format, quality: nil) else { continue }
            writable.append(format)
            strips[format.name] = isBare(format, file.bytes)
            let half = UnsafeRawBufferPointer(rebasing: file.bytes.prefix(file.bytes.count / 2))
            refusesTruncated[format.name] = !decodes(format, half)
        }
        vips_error_clear()
        let readable = ImageFormat.allCases.filter { accepted.contains($0) && VipsLibrary.has(loader($0)) }
        let optional = ImageFormat.allCases.filter {
            ImageFormat.acceptedOnRequest.subtracting(accepted).contains($0) && VipsLibrary.knows(loader($0))
        }
        return CodecReport(
            libvips: VipsLibrary.version, readable: readable, optional: optional, writable: writable, strips: strips,
            refusesTruncated: refusesTruncated)
    }

    fileprivate static func saver(_ format: ImageFormat) -> String {
        [.avif, .heic].contains(format) ? "heif" : format.name
    }

    fileprivate static func writes(_ format: ImageFormat) -> Bool {
        guard let picture = try? VipsPicture({ larder_clear($0, 16, 16) }),
            let file = try? picture.encoded(format, quality: nil)
        else {
            vips_error_clear()
            return false
        }
        return !file.bytes.isEmpty
    }

    private static func loader(_ format: ImageFormat) -> String {
        "\([.heif, .avif, .heic].contains(format) ? "heif" : format.name)load_buffer"
    }

    /// A small picture of noise with metadata that must not come out again.
    private static func marked() throws(VipsFailure) -> VipsPicture {
        let noise = try VipsPicture { larder_noise($0, 64, 64) }
        let picture = try noise.inSRGB().copy()
        let note = Array("<x:xmpmeta>where it was taken</x:xmpmeta>".utf8)
        vips_image_set_blob_copy(picture.image, "xmp-data", note, note.count)
        return picture
    }

    private static func isBare(_ format: ImageFormat, _ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let picture = try? VipsPicture(format, bytes) else { return false }
        let left = picture.fieldNames.filter { $0.hasPrefix("exif-ifd") || $0.hasPrefix("xmp") || $0.hasPrefix("iptc") }
        return left.isEmpty
    }

    private static func decodes(_ format: ImageFormat, _ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let opened = try? VipsPicture(format, bytes), (try? opened.inMemory()) != nil else { return false }
        return true
    }
}

/// The formats libvips writes here. The operation may be there without the encoder behind it, so the costly ones are
/// tried, each when it is first wanted.
struct WritableFormats {
    private var known: Set<ImageFormat> = []
    private var tried: Set<ImageFormat> = []

    init() {
        known = Set(CodecReport.savers.filter { VipsLibrary.has("\(CodecReport.saver($0))save_buffer") })
    }

    /// All of them, those of `wanted` for certain.
    mutating func formats(wanted: Set<ImageFormat>) -> Set<ImageFormat> {
        for format in wanted.intersection([.avif, .heic]).intersection(known).subtracting(tried) {
            tried.insert(format)
            if !CodecReport.writes(format) { known.remove(format) }
        }
        return known
    }
}
