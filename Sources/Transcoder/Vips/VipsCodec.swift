internal import ImageModel

/// libvips' operations for a format. Options are written as on libvips' command line.
struct VipsCodec: Sendable {
    /// `jpegload_buffer`.
    let loader: String
    /// The loader's options for a shrink factor and a number of frames, -1 for all.
    var loadOptions: @Sendable (_ shrink: Int, _ frames: Int) -> String = { _, _ in "" }
    /// The class of a parser that is blocked unless the format is accepted.
    var blockedParser: String?
    /// What the file says about its colours besides a profile, which libvips does not read.
    var color: (@Sendable (UnsafeRawBufferPointer) -> ColorDescription.Source?)?
    /// Whether libvips counts the first play, which the file does not.
    var addsFirstPlay = false
    /// nil when the format is not written.
    var saver: Saver?

    struct Saver: Sendable {
        /// `jpegsave_buffer`.
        let operation: String
        var lowestQuality = 0
        /// The options for a quality; `strip` is true when no metadata is kept.
        let options: @Sendable (_ quality: Int, _ strip: Bool) -> String
        /// Further options for an animation.
        var animationOptions = ""
        /// Whether the encoder starts threads of its own.
        var startsThreads = false
        /// The PNG keyword under which libvips writes a field of EXIF; nil when it writes EXIF itself.
        var textKeywords: [String: String] = [:]
        /// Removes metadata that libvips writes by itself; nil when the file is not sound.
        var clean: (@Sendable (UnsafeRawBufferPointer, KeptMetadata) -> [UInt8]?)?
    }

    static let all: [ImageFormat: VipsCodec] = [
        .jpeg: VipsCodec(
            loader: "jpegload_buffer", loadOptions: { shrink, _ in "shrink=\(shrink)" },
            // 4:2:0 below quality 90, 4:4:4 from there on.
            saver: Saver(
                operation: "jpegsave_buffer", lowestQuality: 1,
                options: { "Q=\($0),optimize_coding=true,strip=\($1)" })),
        .png: VipsCodec(
            loader: "pngload_buffer", color: PNGColor.read,
            saver: Saver(
                operation: "pngsave_buffer", options: { "compression=6,strip=\($1)" },
                // libvips 8.14.1 writes no EXIF into a PNG.
                textKeywords: ["exif-ifd0-Copyright": "Copyright", "exif-ifd0-Artist": "Author"])),
        .gif: VipsCodec(
            loader: "gifload_buffer", loadOptions: { "n=\($1)" }, addsFirstPlay: true,
            // For frames effort 5 takes 60 % of the time of effort 7, for 1 % more bytes and 0.1 dB less.
            saver: Saver(
                operation: "gifsave_buffer", options: { _, _ in "effort=7,strip=true" }, animationOptions: ",effort=5")),
        .webp: VipsCodec(
            loader: "webpload_buffer", loadOptions: { "n=\($1)" },
            // libvips 8.14.1 ignores `strip` here and writes EXIF of its own.
            saver: Saver(
                operation: "webpsave_buffer", options: { quality, _ in "Q=\(quality),effort=4" },
                clean: {
                    WebPContainer.withoutMetadata(
                        $0, keepingEXIF: !$1.exif.isEmpty, keepingICC: $1.profile != nil)
                })),
        // The primary image. Effort 1 is AV1's speed 8 and takes a tenth of the default's time.
        .avif: VipsCodec(
            loader: "heifload_buffer", color: HEIFColor.read, saver: heifSaver("compression=av1,effort=1")),
        .heic: VipsCodec(
            loader: "heifload_buffer", color: HEIFColor.read, saver: heifSaver("compression=hevc,effort=4")),
        .heif: VipsCodec(loader: "heifload_buffer", color: HEIFColor.read),
        .tiff: VipsCodec(loader: "tiffload_buffer", blockedParser: "VipsForeignLoadTiff"),
        .jxl: VipsCodec(loader: "jxlload_buffer", blockedParser: "VipsForeignLoadJxl"),
        // One pixel per unit. Without `unlimited`, so that libxml2 refuses entities that grow.
        .svg: VipsCodec(
            loader: "svgload_buffer", loadOptions: { _, _ in "dpi=72" }, blockedParser: "VipsForeignLoadSvg"),
        // The first page, one pixel per point, on white.
        .pdf: VipsCodec(
            loader: "pdfload_buffer", loadOptions: { _, _ in "dpi=72" }, blockedParser: "VipsForeignLoadPdf"),
    ]

    private static func heifSaver(_ codec: String) -> Saver {
        Saver(
            operation: "heifsave_buffer", lowestQuality: 1, options: { "Q=\($0),\(codec),bitdepth=8,strip=\($1)" },
            startsThreads: true)
    }
}
