internal import ImageModel

/// libvips' operations for a format. Options are in the syntax of libvips' command line.
struct VipsCodec: Sendable {
    /// Such as `jpegload_buffer`.
    let loader: String
    /// The loader's options for a shrink factor and a number of frames, -1 for all.
    var loadOptions: @Sendable (_ shrink: Int, _ frames: Int) -> String = { _, _ in "" }
    /// The parser's class, blocked unless the format is accepted.
    var blockedParser: String?
    /// Reads the file's colour description other than a profile; libvips does not read it.
    var color: (@Sendable (UnsafeRawBufferPointer) -> ColorDescription.Source?)?
    /// The meaning of a profile made by the codec, if it would be drawn wrongly.
    var namedColor: (@Sendable ([UInt8]) -> ColorDescription?)?
    /// The edits that a file needs before libvips reads it.
    var repair: (@Sendable (UnsafeRawBufferPointer) -> [FileEdit])?
    /// Whether libvips counts the first play, which the file does not.
    var addsFirstPlay = false
    /// Nil if the format is not written.
    var saver: Saver?

    struct Saver: Sendable {
        /// Such as `jpegsave_buffer`.
        let operation: String
        var lowestQuality = 0
        /// Options for a quality; `strip` is true if no metadata is kept.
        let options: @Sendable (_ quality: Int, _ strip: Bool, _ settings: EncoderOptions?, _ frames: Int) -> String
        /// Whether the encoder starts threads.
        var startsThreads = false
        /// The PNG keyword under which libvips writes an EXIF field; nil if it writes EXIF itself.
        var textKeywords: [String: String] = [:]
        /// Removes metadata that libvips adds; nil if the file is invalid.
        var clean: (@Sendable (UnsafeRawBufferPointer, KeptMetadata) -> [UInt8]?)?
    }

    static let all: [ImageFormat: VipsCodec] = [
        .jpeg: VipsCodec(
            loader: "jpegload_buffer", loadOptions: { shrink, _ in "shrink=\(shrink)" },
            // 4:2:0 below quality 90, 4:4:4 from there on.
            saver: Saver(
                operation: "jpegsave_buffer", lowestQuality: 1,
                options: { quality, strip, settings, _ in
                    "Q=\(quality),optimize_coding=\(settings?.optimizeCoding ?? true),strip=\(strip)"
                        + ",interlace=\(settings?.progressive ?? false)" + subsampling(settings)
                })),
        .png: VipsCodec(
            loader: "pngload_buffer", color: PNGColor.read, repair: PNGRepair.edits,
            saver: Saver(
                operation: "pngsave_buffer",
                options: { _, strip, settings, _ in
                    "compression=\(settings?.compression ?? 6),strip=\(strip)"
                        + ",interlace=\(settings?.progressive ?? false)" + palette(settings)
                },
                // libvips 8.14.1 writes no EXIF into a PNG.
                textKeywords: ["exif-ifd0-Copyright": "Copyright", "exif-ifd0-Artist": "Author"])),
        .gif: VipsCodec(
            loader: "gifload_buffer", loadOptions: { "n=\($1)" }, addsFirstPlay: true,
            // For frames, effort 5 takes 60 % of the time of effort 7, for 1 % more bytes and 0.1 dB less.
            saver: Saver(
                operation: "gifsave_buffer",
                options: { "effort=\($2?.effort ?? ($3 > 1 ? 5 : 7)),strip=true" })),
        .webp: VipsCodec(
            loader: "webpload_buffer", loadOptions: { "n=\($1)" },
            // libvips 8.14.1 ignores `strip` here and adds its own EXIF.
            saver: Saver(
                operation: "webpsave_buffer",
                options: { quality, _, settings, _ in
                    "Q=\(quality),effort=\(settings?.effort ?? 4)"
                        + (settings?.lossless == true ? ",lossless=true" : "")
                        + (settings?.nearLossless == true ? ",near_lossless=true" : "")
                },
                clean: {
                    WebPContainer.withoutMetadata(
                        $0, keepingEXIF: !$1.exif.isEmpty, keepingICC: $1.profile != nil)
                })),
        // The primary image. Effort 1 is AV1's speed 8 and takes a tenth of the default's time.
        .avif: VipsCodec(
            loader: "heifload_buffer", color: HEIFColor.read, repair: HEIFRepair.edits,
            saver: heifSaver("av1", defaultEffort: 1)),
        .heic: VipsCodec(
            loader: "heifload_buffer", color: HEIFColor.read, repair: HEIFRepair.edits,
            saver: heifSaver("hevc", defaultEffort: 4)),
        .heif: VipsCodec(loader: "heifload_buffer", color: HEIFColor.read, repair: HEIFRepair.edits),
        .tiff: VipsCodec(
            loader: "tiffload_buffer", blockedParser: "VipsForeignLoadTiff",
            saver: Saver(
                operation: "tiffsave_buffer",
                options: { _, strip, settings, _ in
                    "compression=\((settings?.tiffCompression ?? .lzw).rawValue),predictor=horizontal,strip=\(strip)"
                })),
        // Effort 5 gives the size and error of effort 7 in half the time; lossless, effort 3 takes a tenth of the time
        // of 7 for 5 % more bytes.
        .jxl: VipsCodec(
            loader: "jxlload_buffer", blockedParser: "VipsForeignLoadJxl", namedColor: JPEGXLColor.read,
            // At lower qualities libvips 8.14.1 computes a distance that libjxl refuses.
            saver: Saver(
                operation: "jxlsave_buffer", lowestQuality: 5,
                options: { quality, strip, settings, _ in
                    let lossless = settings?.lossless == true
                    return "Q=\(quality),effort=\(settings?.effort ?? (lossless ? 3 : 5)),strip=\(strip)"
                        + (lossless ? ",lossless=true" : "")
                },
                startsThreads: true)),
        // One pixel per unit. Without `unlimited`, so that libxml2 refuses growing entities.
        .svg: VipsCodec(
            loader: "svgload_buffer", loadOptions: { _, _ in "dpi=72" }, blockedParser: "VipsForeignLoadSvg"),
        // The first page, one pixel per point, on white.
        .pdf: VipsCodec(
            loader: "pdfload_buffer", loadOptions: { _, _ in "dpi=72" }, blockedParser: "VipsForeignLoadPdf"),
    ]

    private static func heifSaver(_ codec: String, defaultEffort: Int) -> Saver {
        Saver(
            operation: "heifsave_buffer", lowestQuality: 1,
            options: { quality, strip, settings, _ in
                "Q=\(quality),compression=\(codec),effort=\(settings?.effort ?? defaultEffort),bitdepth=8,strip=\(strip)"
                    + subsampling(settings)
            },
            startsThreads: true)
    }

    private static func subsampling(_ settings: EncoderOptions?) -> String {
        switch settings?.chromaSubsampling {
        case nil: ""
        case .half: ",subsample_mode=on"
        case .full: ",subsample_mode=off"
        }
    }

    private static func palette(_ settings: EncoderOptions?) -> String {
        guard settings?.palette == true else { return "" }
        return ",palette=true,bitdepth=\((settings?.colors ?? 256).trailingZeroBitCount)"
    }
}

/// The profiles that libjxl makes for PQ and HLG images, which describe more light than a display has.
enum JPEGXLColor {
    /// Nil for any other profile. libjxl names the space in the description: `RGB_D65_202_Per_PeQ`.
    @Sendable static func read(_ profile: [UInt8]) -> ColorDescription? {
        guard profile.has("jxl ", at: 4), let start = ICCProfile.tag("desc", in: profile),
            profile.has("mluc", at: start), let length = profile.bigEndian(at: start + 20),
            let place = profile.bigEndian(at: start + 24), length < 256, start + place + length <= profile.count
        else { return nil }
        // ASCII in UTF-16.
        let letters = profile[(start + place)..<(start + place + length)].filter { $0 != 0 }
        let parts = String(decoding: letters, as: UTF8.self).split(separator: "_")
        guard let transfer: TransferCurve = parts.last == "PeQ" ? .pq : parts.last == "HLG" ? .hlg : nil else {
            return nil
        }
        let primaries: ColorPrimaries = parts.contains("SRG") ? .sRGB : parts.contains("DCI") ? .displayP3 : .rec2020
        return ColorDescription(primaries: primaries, transfer: transfer)
    }
}

/// The chunks of a WebP file.
enum WebPContainer {
    /// The file without EXIF, XMP and profile, except what is kept; nil if its chunks are invalid.
    ///
    /// `webpsave` of libvips 8.14.1 writes EXIF even for an image that has none.
    @Sendable static func withoutMetadata(
        _ file: UnsafeRawBufferPointer, keepingEXIF: Bool = false, keepingICC: Bool = false
    ) -> [UInt8]? {
        guard file.has("RIFF", at: 0), file.has("WEBP", at: 8) else { return nil }
        var kept = Array(file[0..<12])
        kept.reserveCapacity(file.count)
        var offset = 12
        while offset < file.count {
            guard offset + 8 <= file.count, let length = file.littleEndian(at: offset + 4) else { return nil }
            // Chunks are padded to an even length.
            let next = offset + 8 + length + length % 2
            guard next <= file.count else { return nil }
            if file.has("VP8X", at: offset) && length > 0 {
                // The flags for profile, EXIF and XMP.
                let flags = kept.count + 8
                kept += file[offset..<next]
                kept[flags] &= ~(0x04 | (keepingEXIF ? 0 : 0x08) | (keepingICC ? 0 : 0x20))
            } else if file.has("EXIF", at: offset)
                ? keepingEXIF : file.has("ICCP", at: offset) ? keepingICC : !file.has("XMP ", at: offset)
            {
                kept += file[offset..<next]
            }
            offset = next
        }
        for byte in 0..<4 { kept[4 + byte] = UInt8(truncatingIfNeeded: (kept.count - 8) >> (8 * byte)) }
        return kept
    }
}
