/// A variant's short form, `card=800x800:webp,q=75`, equivalent to its JSON.
///
/// `NAME=WIDTHxHEIGHT[:FORMAT][,PART]...` with the parts `crop`, `fit`, `fill`, `blur=R`, `round=R`, `q=N`, `key=TEXT`
/// and `budget=BYTES`. Without `crop`, `fit` and `fill` the size is a thumbnail's box; with one of them it is a
/// resize, the first transformer. `blur` and `round` follow in their order.
package struct VariantShorthand {
    /// The grammar in the help of options.
    package static let grammar = "NAME=WxH[:FORMAT][,crop|fit|fill][,blur=R][,round=R][,q=N][,key=TEXT][,budget=BYTES]"
    package static let example = "card=800x800:webp,q=75"

    private static let parts = "crop, fit, fill, blur=R, round=R, q=N, key=TEXT, budget=BYTES"
    /// More digits than any size limit.
    private static let digitLimit = 6

    private var size: [String: JSONValue] = [:]
    private var scaleMode: String?
    private var transforms: [JSONValue] = []
    private var fields: [String: JSONValue] = [:]

    /// - Throws: the error, naming the part.
    package static func variant(_ text: String) throws(VariantError) -> Variant {
        try Variant(try VariantShorthand(text).json, path: "$")
    }

    private init(_ text: String) throws(VariantError) {
        guard let equals = text.firstIndex(of: "=") else {
            throw Self.refusal("a variant is \(Self.grammar) or a JSON object")
        }
        guard equals != text.startIndex else { throw Self.refusal("the name before '=' is missing") }
        fields["name"] = .string(String(text[..<equals]))
        var parts = text[text.index(after: equals)...].split(separator: ",", omittingEmptySubsequences: false)
        let first = parts.removeFirst().split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        try readSize(String(first[0]))
        if first.count > 1 { try readFormat(String(first[1])) }
        for part in parts { try read(String(part)) }
    }

    private var json: JSONValue {
        var fields = fields
        var transforms = transforms
        if let scaleMode {
            let resize = size.merging(["type": .string("resize"), "scaleMode": .string(scaleMode)]) { $1 }
            transforms.insert(.object(resize), at: 0)
        } else {
            fields["thumbnail"] = .object(size)
        }
        if !transforms.isEmpty { fields["transform"] = .array(transforms) }
        return .object(fields)
    }

    private mutating func readSize(_ text: String) throws(VariantError) {
        let sides = text.split(separator: "x", omittingEmptySubsequences: false).map(String.init)
        guard sides.count == 2 else { throw Self.refusal("the size '\(text)' is not WIDTHxHEIGHT in pixels") }
        guard sides.contains(where: { !$0.isEmpty }), sides.allSatisfy({ $0.isEmpty || Self.length($0) != nil }) else {
            throw Self.refusal("the size '\(text)' is not two whole numbers of pixels greater than 0")
        }
        guard let width = Self.length(sides[0]), let height = Self.length(sides[1]) else {
            let side = sides[0] + sides[1]
            throw Self.refusal(
                "the size '\(text)' has one side only; \(side)x\(side) is a box in which the aspect ratio is kept")
        }
        size = ["width": .number(width), "height": .number(height)]
    }

    private mutating func readFormat(_ text: String) throws(VariantError) {
        let name = text == "jpg" ? "jpeg" : text
        let names = ImageFormat.outputs.map(\.name) + [AutomaticFormat.name]
        guard names.contains(name) else {
            throw Self.refusal("the format '\(text)' is none of \(names.joined(separator: ", "))")
        }
        fields["format"] = .string(name)
    }

    private mutating func read(_ part: String) throws(VariantError) {
        let words = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let value = words.count > 1 ? words[1] : nil
        switch (words[0], value) {
        case ("crop", nil): try setScaleMode("aspectFill", part)
        case ("fit", nil): try setScaleMode("aspectFit", part)
        case ("fill", nil): try setScaleMode("fill", part)
        case ("blur", let value?):
            transforms.append(.object(["type": .string("blur"), "radius": try Self.radius(value, part)]))
        case ("round", let value?):
            transforms.append(.object(["type": .string("roundCorner"), "radius": try Self.radius(value, part)]))
        case ("q", let value?):
            guard let quality = Int(value), (0...100).contains(quality) else {
                throw Self.refusal("the quality in '\(part)' is not a whole number from 0 to 100")
            }
            try set("quality", .number(Double(quality)), part)
        case ("key", let value?):
            guard !value.isEmpty else { throw Self.refusal("'\(part)' has no text") }
            try set("keySuffix", .string(value), part)
        case ("budget", let value?):
            guard let bytes = Int32(value), bytes > 0 else {
                throw Self.refusal("the budget in '\(part)' is not a whole number of bytes")
            }
            try set("budget", .object(["maxBytes": .number(Double(bytes))]), part)
        default:
            throw Self.refusal("'\(part)' is none of \(Self.parts)")
        }
    }

    private mutating func setScaleMode(_ mode: String, _ part: String) throws(VariantError) {
        guard scaleMode == nil else { throw Self.refusal("'\(part)' is a second one of crop, fit and fill") }
        scaleMode = mode
    }

    private mutating func set(_ field: String, _ value: JSONValue, _ part: String) throws(VariantError) {
        guard fields[field] == nil else { throw Self.refusal("'\(part)' is given a second time") }
        fields[field] = value
    }

    private static func length(_ text: String) -> Double? {
        guard text.utf8.count <= digitLimit, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let value = Int(text),
            value > 0
        else { return nil }
        return Double(value)
    }

    private static func radius(_ text: String, _ part: String) throws(VariantError) -> JSONValue {
        guard let value = Double(text), value.isFinite, value >= 0, value.sign == .plus else {
            throw refusal("the radius in '\(part)' is not a number of 0 or more")
        }
        return .number(value)
    }

    private static func refusal(_ message: String) -> VariantError { VariantError(path: "$", message: message) }
}
