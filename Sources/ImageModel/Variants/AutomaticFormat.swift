/// The formats among which a variant of `"format": "auto"` gets the smallest file of equal similarity.
package struct AutomaticFormat: Sendable, Hashable {
    /// The formats, each once, at least one; AVIF, WebP and JPEG by default.
    package let formats: [ImageFormat]

    /// The name in place of a format's.
    package static let name = "auto"

    /// The similarity that the files have where the variant names none: about as similar as a JPEG of quality 80.
    package static let usualSimilarity = 0.96

    /// The formats that can be named: those with a quality, and PNG, which has every pixel.
    static let choices = ImageFormat.outputs.filter { $0.output?.defaultQuality != nil || $0 == .png }

    private static let usual: [ImageFormat] = [.avif, .webp, .jpeg]

    /// Reads `formats` and checks it against the fields of the variant that exclude it.
    ///
    /// - Throws: `VariantError` with the JSON path.
    init(_ fields: inout JSONFields) throws(VariantError) {
        let path = "\(fields.path).formats"
        guard let value = fields.take("formats") else {
            formats = Self.usual
            return
        }
        let names = Self.choices.map(\.name).joined(separator: ", ")
        formats = try value.list(path: path, limit: Self.choices.count, of: "formats") {
            (value, path) throws(VariantError) in
            guard case .string(let name) = value, let format = Self.choices.first(where: { $0.name == name }) else {
                throw VariantError(path: path, message: "must be one of \(names)")
            }
            return format
        }
        guard !formats.isEmpty else { throw fields.refusal("formats", "must not be empty") }
        for (index, format) in formats.enumerated() where formats[..<index].contains(format) {
            throw fields.refusal("formats[\(index)]", "\(format.name) is named twice")
        }
    }

    /// The text in keys, `LarderFormat(avif,webp,jpeg)`.
    var key: String { "LarderFormat(\(formats.map(\.name).joined(separator: ",")))" }

    /// The JSON of `formats`, defaults included.
    var json: JSONValue { .array(formats.map { .string($0.name) }) }
}
