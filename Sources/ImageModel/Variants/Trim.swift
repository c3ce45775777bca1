/// A border of one colour, which is cut off before an image is resized or transformed.
package struct Trim: Sendable, Hashable {
    /// The largest difference of a channel from the colour within the border, 0…254; 10 by default.
    package let threshold: Double
    /// The border's colour; nil, the default, for the colour of the pixel at the top left.
    package let color: Color?

    /// - Throws: `VariantError` with the JSON path.
    init(_ value: JSONValue, path: String) throws(VariantError) {
        var fields = try JSONFields(value, path: path)
        threshold = try fields.number("threshold", in: 0...254) ?? 10
        color = try fields.color("color")
        try fields.finish()
    }

    /// The JSON that parses to it, with the threshold written out.
    var json: JSONValue {
        let fields: [String: JSONValue?] = ["threshold": .number(threshold), "color": color.map { .string($0.text) }]
        return .object(fields.compactMapValues(\.self))
    }

    /// The text in keys, `LarderTrim(10.000000,(null))`.
    var key: String { "LarderTrim(\(threshold.keyText),\(color?.text ?? "(null)"))" }

    /// `trim within 10.0 of #ffffffff`.
    package var text: String { "trim within \(threshold) of \(color?.text ?? "the first pixel")" }
}
