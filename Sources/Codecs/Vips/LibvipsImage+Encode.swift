private import CLinux
private import CVips
private import FoundationEssentials
internal import ImageModel
internal import Transcoder

/// The metadata that an output keeps of its original: none by default.
struct KeptMetadata: Sendable {
    /// EXIF values by libvips' field names.
    var exif: [String: String] = [:]
    var profile: [UInt8]?

    var isEmpty: Bool { exif.isEmpty && profile == nil }
}

extension KeptMetadata {
    init(copyrightOf image: borrowing LibvipsImage) {
        for name in ["exif-ifd0-Copyright", "exif-ifd0-Artist"] {
            exif[name] = image.text(name).map(EXIFText.value)
        }
    }
}

extension LibvipsImage {
    /// Encodes the image without any metadata but `kept`.
    ///
    /// - Parameters:
    ///   - quality: 0…100; formats without a quality ignore it. Nil is the format's default.
    ///   - settings: the encoder's settings; nil for the defaults.
    ///   - background: the colour under transparency in a format without it; nil is white.
    func encoded(
        _ format: ImageFormat, quality: Int?, settings: EncoderOptions? = nil, background: Color? = nil,
        keeping kept: KeptMetadata = KeptMetadata()
    ) throws(CodecFailure) -> EncodedFile {
        guard let output = format.output, let saver = VipsCodec.all[format]?.saver else {
            throw CodecFailure(message: "there is no encoder")
        }
        var image = try withoutMetadata()
        kept.write(into: image, saver)
        if hasAlpha && !output.holdsAlpha { image = try image.flattened(onto: background) }
        let quality = max(saver.lowestQuality, quality ?? output.defaultQuality ?? 0)
        let options = saver.options(quality, kept.isEmpty, settings, frames)
        let file =
            saver.startsThreads
            ? try CPUAffinity.onOneProcessor { () throws(CodecFailure) in try image.saved(saver.operation, options) }
            : try image.saved(saver.operation, options)
        guard let clean = saver.clean else { return file }
        guard let bytes = withExtendedLifetime(file, { clean(file.bytes, kept) }) else {
            throw CodecFailure(message: "the file has no sound chunks")
        }
        return try EncodedFile(copying: bytes)
    }

    func saved(_ operation: String, _ options: String) throws(CodecFailure) -> EncodedFile {
        var start: UnsafeMutableRawPointer?
        var length = 0
        try CodecFailure.check { larder_save(operation, pointer, options, &start, &length) == 0 }
        return EncodedFile(start, count: length, g_free)
    }

    /// Red, green, blue, straight alpha, row by row.
    func rawRGBA() throws(CodecFailure) -> EncodedFile {
        let pixels = try redrawn { _ in }
        var start: UnsafeMutableRawPointer?
        var length = 0
        try CodecFailure.check {
            start = vips_image_write_to_memory(pixels.pointer, &length)
            return start != nil
        }
        return EncodedFile(start, count: length, g_free)
    }

    /// Flattened onto a colour, itself composited on white if translucent; nil is white.
    private func flattened(onto background: Color?) throws(CodecFailure) -> LibvipsImage {
        let color = background.map { color in
            [color.red, color.green, color.blue].map { ($0 * color.alpha + 1 - color.alpha) * 255 }
        }
        return try LibvipsImage { larder_flatten(pointer, $0, color ?? [255, 255, 255]) }
    }

    /// A copy without any removable field: EXIF, XMP, IPTC, profiles, comments. Animations keep their timing.
    ///
    /// Needed because `webpsave` of libvips 8.14.1 ignores `strip`.
    private func withoutMetadata() throws(CodecFailure) -> LibvipsImage {
        let copy = try copy()
        for name in copy.fieldNames where !Self.animationFields.contains(name) { vips_image_remove(copy.pointer, name) }
        return copy
    }

    private static let animationFields: Set<String> = ["page-height", "n-pages", "delay", "loop"]

    /// Frames of one size as one animation.
    static func animation(_ frames: [SharedImage], _ header: SourceHeader, for format: ImageFormat) throws(CodecFailure)
        -> LibvipsImage
    {
        guard let first = frames.first else { throw CodecFailure(message: "there is no frame") }
        var images: [UnsafeMutablePointer<VipsImage>?] = frames.map { $0.image.pointer }
        let strip = try LibvipsImage { larder_join_frames(&images, Int32(images.count), $0) }.inMemory().copy()
        let plays = FrameTiming.raw(
            loopCount: header.loopCount, addsFirstPlay: VipsCodec.all[format]?.addsFirstPlay == true,
            hasBlock: header.hasLoopBlock)
        vips_image_set_int(strip.pointer, "page-height", Int32(first.image.size.height))
        vips_image_set_int(strip.pointer, "n-pages", Int32(frames.count))
        vips_image_set_int(strip.pointer, "loop", Int32(clamping: plays))
        let delays = header.frameMilliseconds.map { Int32(clamping: $0) }
        vips_image_set_array_int(strip.pointer, "delay", delays, Int32(delays.count))
        return strip
    }
}

extension KeptMetadata {
    fileprivate func write(into image: borrowing LibvipsImage, _ saver: VipsCodec.Saver) {
        for (index, (name, value)) in exif.sorted(by: { $0.key < $1.key }).enumerated() {
            if let keyword = saver.textKeywords[name] {
                vips_image_set_string(image.pointer, "png-comment-\(index)-\(keyword)", value)
            } else {
                vips_image_set_string(image.pointer, name, EXIFText.field(value))
            }
        }
        if let profile { vips_image_set_blob_copy(image.pointer, "icc-profile-data", profile, profile.count) }
    }
}

/// An image in memory from which several outputs are drawn. Its pixels never change.
final class SharedImage {
    let image: LibvipsImage

    init(_ image: consuming LibvipsImage) { self.image = image }
}

/// Binds codecs that start threads to one processor. x265 and aom start threads, and libvips 8.14.1 has no option
/// against it.
enum CPUAffinity {
    /// Runs `body` with this thread, and all threads that it starts, on one processor.
    static func onOneProcessor<Value, Failure: Error>(_ body: () throws(Failure) -> Value) throws(Failure) -> Value {
        var before = larder_processors()
        let isPinned = larder_pin_processor(&before) == 0
        defer { if isPinned { larder_unpin_processor(&before) } }
        return try body()
    }
}

/// EXIF texts as libvips 8.14 writes them: `VALUE (SHOWN, ASCII, 5 components, 5 bytes)`.
enum EXIFText {
    /// The value without libvips' additions. The copyright it shows may itself contain parentheses.
    static func value(_ text: String) -> String {
        let bytes = Array(text.utf8), mark = Array(" (".utf8)
        let places = bytes.indices.filter { bytes[$0...].starts(with: mark) }
        // A value has one component per byte and usually one for its final zero byte.
        let count = text.ranges(of: ", ASCII, ").last.flatMap {
            Int(text[$0.upperBound...].prefix { $0.isWholeNumber })
        }
        let end = places.first { $0 + 1 == count } ?? places.first { $0 == count } ?? places.first
        return String(decoding: bytes[..<(end ?? bytes.endIndex)], as: UTF8.self)
    }

    /// The text for a value: libvips drops everything after the last opening parenthesis.
    static func field(_ value: String) -> String {
        let count = value.utf8.count + 1
        return "\(value) (, ASCII, \(count) components, \(count) bytes)"
    }
}
