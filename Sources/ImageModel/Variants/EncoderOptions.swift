/// Settings of the encoder of a variant's format; nil, the default, uses the encoder's default.
package struct EncoderOptions: Sendable, Hashable {
    /// The resolution of chroma relative to luma.
    package enum ChromaSubsampling: String, Sendable, Hashable, CaseIterable {
        /// Half in each direction.
        case half = "4:2:0"
        /// Equal.
        case full = "4:4:4"
    }

    package enum TIFFCompression: String, Sendable, Hashable, CaseIterable {
        case lzw, deflate, packbits
        case off = "none"
    }

    /// JPEG, AVIF and HEIC; by default 4:4:4 from quality 90, else 4:2:0.
    package let chromaSubsampling: ChromaSubsampling?
    /// JPEG in several scans, PNG in seven passes; `false` by default.
    package let progressive: Bool?
    /// JPEG: Huffman tables for this image instead of the standard's; `true` by default.
    package let optimizeCoding: Bool?
    /// The encoder's effort for a smaller file, in a format-dependent range.
    package let effort: Int?
    /// WebP and JPEG XL: keeps every pixel, without effect of the quality; `false` by default.
    package let lossless: Bool?
    /// WebP: lossless after simplifying the pixels, more at lower qualities; `false` by default.
    package let nearLossless: Bool?
    /// PNG: a palette, by default of 256 colours; `false` by default.
    package let palette: Bool?
    /// PNG: maximum colours of the palette: 2, 4, 16 or 256.
    package let colors: Int?
    /// PNG: zlib's level, 0…9; 6 by default.
    package let compression: Int?
    /// TIFF, also `compression` in JSON; LZW by default.
    package let tiffCompression: TIFFCompression?

    /// The range of each format that has efforts.
    static let efforts: [ImageFormat: ClosedRange<Int>] = [
        .webp: 0...6, .avif: 0...9, .gif: 1...10, .jxl: 3...9,
    ]

    private static let paletteSizes = [2, 4, 16, 256]

    /// - Parameter format: the variant's format.
    /// - Throws: `VariantError` with the JSON path, also for a field that the format does not have.
    init(_ value: JSONValue, path: String, format: ImageFormat?) throws(VariantError) {
        var fields = try JSONFields(value, path: path)
        guard let format else { throw fields.refusal(nil, "needs one format") }
        chromaSubsampling = try fields.choice("chromaSubsampling")
        progressive = try fields.bool("progressive")
        optimizeCoding = try fields.bool("optimizeCoding")
        effort = try Self.effort(&fields, format)
        lossless = try fields.bool("lossless")
        nearLossless = try fields.bool("nearLossless")
        palette = try fields.bool("palette")
        colors = try fields.integer("colors", in: 2...256)
        tiffCompression = format == .tiff ? try fields.choice("compression") : nil
        compression = try fields.integer("compression", in: 0...9)
        try fields.finish()
        if let foreign = given.first(where: { Self.formats[$0.name]?.contains(format) != true }) {
            throw fields.refusal(foreign.name, "is not a field of \(format.name)")
        }
        if lossless == true && nearLossless == true {
            throw fields.refusal("nearLossless", "contradicts lossless")
        }
        guard let colors else { return }
        if palette != true { throw fields.refusal("colors", "needs palette") }
        if !Self.paletteSizes.contains(colors) { throw fields.refusal("colors", "must be 2, 4, 16 or 256") }
    }

    private static func effort(_ fields: inout JSONFields, _ format: ImageFormat) throws(VariantError) -> Int? {
        // Without a range, `finish` refuses the field as foreign to the format.
        try fields.integer("effort", in: efforts[format] ?? 0...10)
    }

    private static let formats: [String: Set<ImageFormat>] = [
        "chromaSubsampling": [.jpeg, .avif, .heic], "progressive": [.jpeg, .png], "optimizeCoding": [.jpeg],
        "effort": Set(efforts.keys), "lossless": [.webp, .jxl], "nearLossless": [.webp], "palette": [.png],
        "colors": [.png], "compression": [.png, .tiff],
    ]

    /// The given fields, sorted by name.
    private var given: [(name: String, value: JSONValue)] {
        let fields: [(String, JSONValue?)] = [
            ("chromaSubsampling", chromaSubsampling.map { .string($0.rawValue) }),
            ("colors", colors.map { .number(Double($0)) }),
            ("compression", compression.map { .number(Double($0)) } ?? tiffCompression.map { .string($0.rawValue) }),
            ("effort", effort.map { .number(Double($0)) }), ("lossless", lossless.map { .bool($0) }),
            ("nearLossless", nearLossless.map { .bool($0) }), ("optimizeCoding", optimizeCoding.map { .bool($0) }),
            ("palette", palette.map { .bool($0) }), ("progressive", progressive.map { .bool($0) }),
        ]
        return fields.compactMap { field in field.1.map { (field.0, $0) } }
    }

    var json: JSONValue { .object(Dictionary(given, uniquingKeysWith: { one, _ in one })) }

    /// The field that an animated PNG cannot have; nil if none is given.
    var ofOneImage: String? { palette == true ? "palette" : progressive == true ? "progressive" : nil }

    /// The given fields, `effort=6,lossless=true`; empty if there are none.
    package var text: String {
        given.map { name, value in
            if case .string(let text) = value { return "\(name)=\(text)" }
            return "\(name)=\(value.canonicalText)"
        }.joined(separator: ",")
    }

    /// In keys: `LarderEncoding(effort=6,lossless=true)`; nil if no field is given.
    var key: String? { text.isEmpty ? nil : "LarderEncoding(\(text))" }
}
