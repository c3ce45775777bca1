/// An image drawn over another one.
package struct Watermark: Sendable, Hashable {
    /// The file's name in the directory of watermarks, without directories.
    package let file: String
    /// The point of both images that coincides. `bottomRight` by default.
    package let position: Gravity
    /// 0…1; 1 by default.
    package let opacity: Double
    /// Its width as a fraction of the image's, 0.001…1; nil, the default, keeps its own size. It is always shrunk to
    /// fit.
    package let scale: Double?
    /// Distance from the edges in points, at least 0; 0 by default.
    package let margin: Double

    /// - Throws: `VariantError` with the JSON path.
    init(_ fields: inout JSONFields) throws(VariantError) {
        file = try fields.requiredName("file")
        guard !file.hasPrefix("."), file.utf8.count <= 100, file.utf8.allSatisfy(Self.isAllowed) else {
            throw fields.refusal(
                "file", "must be the name of a file: at most 100 letters, digits, dots, hyphens and underscores")
        }
        let path = "\(fields.path).position"
        position =
            try fields.take("position").map { value throws(VariantError) in
                try Gravity(value, path: path)
            } ?? .point(x: 1, y: 1)
        if case .interest = position { throw fields.refusal("position", "must be a point or the name of one") }
        opacity = try fields.number("opacity", in: 0...1) ?? 1
        scale = try fields.number("scale", in: 0.001...1)
        margin = try fields.number("margin", in: 0...10_000) ?? 0
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        let character = Character(Unicode.Scalar(byte))
        return byte < 128 && (character.isLetter || character.isNumber || ".-_".contains(character))
    }

    /// The fields of its JSON, including defaults.
    var fields: [String: JSONValue?] {
        [
            "file": .string(file), "position": position.json, "opacity": .number(opacity),
            "scale": scale.map { .number($0) }, "margin": .number(margin),
        ]
    }

    /// In keys.
    var keyText: String {
        "\(file),\(position.keyText),\(opacity.keyText),\(scale?.keyText ?? "(null)"),\(margin.keyText)"
    }
}
