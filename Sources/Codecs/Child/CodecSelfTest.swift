private import CVips
internal import ImageModel
internal import Transcoder

extension CodecReport {
    /// Tries every codec on a small image: libvips may list an operation whose codec is missing.
    ///
    /// - Parameter accepted: accepted formats.
    static func measured(accepted: Set<ImageFormat>) -> CodecReport {
        var writable: [ImageFormat] = []
        var strips: [String: Bool] = [:]
        var refusesTruncated: [String: Bool] = [:]
        for format in ImageFormat.outputs {
            guard let image = try? noiseWithMetadata(), let file = try? image.encoded(format, quality: nil) else {
                continue
            }
            writable.append(format)
            // An unaccepted format cannot be read back.
            guard accepted.contains(format) else { continue }
            strips[format.name] = hasNoMetadata(format, file.bytes)
            let half = UnsafeRawBufferPointer(rebasing: file.bytes.prefix(file.bytes.count / 2))
            refusesTruncated[format.name] = (try? LibvipsImage(format, half).inMemory()) == nil
        }
        let requestable = ImageFormat.acceptedOnRequest.subtracting(accepted)
        return CodecReport(
            libvips: VipsLibrary.version,
            readable: ImageFormat.allCases.filter {
                accepted.contains($0) && VipsLibrary.allows(VipsCodec.all[$0]?.loader)
            },
            optional: ImageFormat.allCases.filter {
                requestable.contains($0) && VipsLibrary.has(VipsCodec.all[$0]?.loader)
            },
            writable: writable, strips: strips, refusesTruncated: refusesTruncated)
    }

    private static func noiseWithMetadata() throws(CodecFailure) -> LibvipsImage {
        let noise = try LibvipsImage { larder_noise($0, 64, 64) }
        let image = try noise.inSRGB().copy()
        let note = Array("<x:xmpmeta>where it was taken</x:xmpmeta>".utf8)
        vips_image_set_blob_copy(image.pointer, "xmp-data", note, note.count)
        return image
    }

    private static func hasNoMetadata(_ format: ImageFormat, _ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let image = try? LibvipsImage(format, bytes) else { return false }
        let prefixes = ["exif-ifd", "xmp", "iptc"]
        return !image.fieldNames.contains { name in prefixes.contains { name.hasPrefix($0) } }
    }
}

/// The formats that libvips can write here. A format whose operation may lack its encoder is tried at its first use.
struct WritableFormats {
    private var known = Set(ImageFormat.outputs.filter { VipsLibrary.allows(VipsCodec.all[$0]?.saver?.operation) })
    private var tried: Set<ImageFormat> = []

    /// The writable formats known so far, after trying those in `wanted`.
    mutating func formats(wanted: Set<ImageFormat>) -> Set<ImageFormat> {
        for format in wanted.intersection(known).subtracting(tried) where format.output?.needsTrial == true {
            tried.insert(format)
            if !Self.writes(format) { known.remove(format) }
        }
        return known
    }

    private static func writes(_ format: ImageFormat) -> Bool {
        guard let image = try? LibvipsImage({ larder_clear($0, 16, 16) }),
            let file = try? image.encoded(format, quality: nil)
        else { return false }
        return !file.bytes.isEmpty
    }
}
