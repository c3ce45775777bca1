private import CVips
private import Foundation
internal import ImageModel

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

/// What an output keeps of its original's metadata: nothing, unless a variant asks.
struct KeptMetadata {
    /// libvips' fields of EXIF, by name.
    var exif: [String: String] = [:]
    var profile: [UInt8]?

    static let copyrightFields = ["exif-ifd0-Copyright", "exif-ifd0-Artist"]
    /// PNG has texts for them; libvips 8.14.1 writes no EXIF there.
    private static let textChunks = ["exif-ifd0-Copyright": "Copyright", "exif-ifd0-Artist": "Author"]

    var isEmpty: Bool { exif.isEmpty && profile == nil }
}

extension VipsPicture {
    /// Encodes the picture with no metadata but what is kept.
    ///
    /// - Parameter quality: 0…100; formats without one ignore it.
    func encoded(
        _ format: ImageFormat, quality: Int?, background: Color? = nil, keeping kept: KeptMetadata = KeptMetadata()
    ) throws(VipsFailure) -> EncodedPicture {
        let picture = try withoutMetadata()
        kept.write(into: picture, as: format)
        let value = Int32(quality ?? OutputFormat.defaultQuality(format) ?? 0)
        let bare: Int32 = kept.isEmpty ? 1 : 0
        switch format {
        case .jpeg:
            let opaque = hasAlpha ? try picture.flattened(onto: background) : try picture.copy()
            return try EncodedPicture { larder_jpeg_save(opaque.image, max(1, value), bare, $0, $1) }
        case .png: return try EncodedPicture { larder_png_save(picture.image, bare, $0, $1) }
        case .gif: return try EncodedPicture { larder_gif_save(picture.image, $0, $1) }
        case .webp:
            let file = try EncodedPicture { larder_webp_save(picture.image, value, $0, $1) }
            let clean = WebPContainer.withoutMetadata(
                file.bytes, keepingEXIF: !kept.exif.isEmpty, keepingICC: kept.profile != nil)
            guard let clean else { throw VipsFailure() }
            return EncodedPicture(copying: clean)
        case .heic, .heif, .avif:
            return try CPUAffinity.run { () throws(VipsFailure) in
                try EncodedPicture {
                    larder_heif_save(picture.image, max(1, value), format == .avif ? 1 : 0, bare, $0, $1)
                }
            }
        case .tiff, .svg, .jxl, .pdf, .bmp: return try EncodedPicture { _, _ in -1 }
        }
    }

    /// Red, green, blue and straight alpha of each pixel, row by row.
    func rawRGBA() throws(VipsFailure) -> EncodedPicture {
        let pixels = try redrawn { _ in }
        return try EncodedPicture { start, length in
            start.pointee = vips_image_write_to_memory(pixels.image, length)
            return start.pointee == nil ? -1 : 0
        }
    }

    /// On a colour, which is itself laid on white where it is not opaque; nil is white.
    private func flattened(onto background: Color?) throws(VipsFailure) -> VipsPicture {
        let color = background.map { color in
            [color.red, color.green, color.blue].map { ($0 * color.alpha + 1 - color.alpha) * 255 }
        }
        return try VipsPicture { larder_flatten(image, $0, color ?? [255, 255, 255]) }
    }

    /// A copy with every field removed that can be: EXIF, XMP, IPTC, profiles, comments, whatever a loader brought.
    ///
    /// By hand, as `webpsave` of libvips 8.14.1 ignores `strip`. Animations keep their frames, delays and count.
    private func withoutMetadata() throws(VipsFailure) -> VipsPicture {
        let bare = try copy()
        for name in bare.fieldNames where !Self.animationFields.contains(name) { vips_image_remove(bare.image, name) }
        return bare
    }

    private static let animationFields: Set<String> = ["page-height", "n-pages", "delay", "loop"]

    /// Frames of one size as one animation.
    static func animation(
        _ frames: [SharedPicture], milliseconds: [Int], loopCount: Int, for format: ImageFormat
    ) throws(VipsFailure) -> VipsPicture {
        var images: [UnsafeMutablePointer<VipsImage>?] = frames.map { $0.picture.image }
        let strip = try VipsPicture { larder_join_frames(&images, Int32(images.count), $0) }.inMemory().copy()
        guard let first = frames.first else { throw VipsFailure() }
        vips_image_set_int(strip.image, "page-height", Int32(first.picture.size.height))
        vips_image_set_int(strip.image, "n-pages", Int32(frames.count))
        vips_image_set_int(strip.image, "loop", Int32(clamping: FrameTiming.raw(loopCount: loopCount, for: format)))
        let delays = milliseconds.map { Int32(clamping: $0) }
        vips_image_set_array_int(strip.image, "delay", delays, Int32(delays.count))
        return strip
    }
}

extension KeptMetadata {
    fileprivate func write(into picture: borrowing VipsPicture, as format: ImageFormat) {
        for (index, (name, value)) in exif.sorted(by: { $0.key < $1.key }).enumerated() {
            if format == .png, let keyword = Self.textChunks[name] {
                // libvips shows the value, then in parentheses its type and length.
                let end = value.range(of: " (", options: .backwards)?.lowerBound ?? value.endIndex
                vips_image_set_string(picture.image, "png-comment-\(index)-\(keyword)", String(value[..<end]))
            } else {
                vips_image_set_string(picture.image, name, value)
            }
        }
        if let profile { vips_image_set_blob_copy(picture.image, "icc-profile-data", profile, profile.count) }
    }
}

/// A picture in memory that several drawings begin from. Its pixels are computed and never change.
final class SharedPicture {
    let picture: VipsPicture

    init(_ picture: consuming VipsPicture) { self.picture = picture }
}
