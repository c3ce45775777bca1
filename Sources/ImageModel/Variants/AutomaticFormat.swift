/// The candidate formats of a variant with `"format": "auto"`, which gets the smallest file of equal similarity.
package struct AutomaticFormat: Sendable, Hashable {
    /// Distinct formats, at least one; AVIF, WebP and JPEG by default.
    package let formats: [ImageFormat]

    /// Used in place of a format's name.
    package static let name = "auto"

    /// The similarity of the files if the variant names none: about a JPEG of quality 80.
    package static let usualSimilarity = 0.96

    /// Formats that can be named: formats with a quality, and PNG, which keeps every pixel.
    static let choices = ImageFormat.outputs.filter { $0.output?.defaultQuality != nil || $0 == .png }

    private static let usual: [ImageFormat] = [.avif, .webp, .jpeg]

    /// Parses `formats` and checks it against the variant's conflicting fields.
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

    /// In keys: `LarderFormat(avif,webp,jpeg)`.
    var key: String { "LarderFormat(\(formats.map(\.name).joined(separator: ",")))" }

    /// The JSON of `formats`, including defaults.
    var json: JSONValue { .array(formats.map { .string($0.name) }) }
}
