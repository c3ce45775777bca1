private import ImageModel

/// Writes JSON into a string. For hundreds of outcomes a `Codable` encoder takes longer than the database.
struct JSONText {
    private(set) var text = ""

    mutating func array<Elements: Collection>(
        _ elements: Elements, _ write: (inout JSONText, Elements.Element) -> Void
    ) {
        text += "["
        for (index, element) in elements.enumerated() {
            if index > 0 { text += "," }
            write(&self, element)
        }
        text += "]"
    }

    mutating func object(_ write: (inout JSONText) -> Void) {
        text += "{"
        write(&self)
        text += "}"
    }

    /// Adds a member's name, preceded by a comma if needed.
    mutating func member(_ name: String) {
        if text.utf8.last != UInt8(ascii: "{") { text += "," }
        text += "\""
        text += name
        text += "\":"
    }

    mutating func add<Number: BinaryInteger>(_ name: String, _ value: Number?) {
        guard let value else { return }
        member(name)
        text += String(value)
    }

    mutating func add(_ name: String, _ value: Bool?) {
        guard let value else { return }
        member(name)
        text += value ? "true" : "false"
    }

    mutating func add(_ name: String, _ value: String?) {
        guard let value else { return }
        member(name)
        string(value)
    }

    /// Zero characters, which Postgres cannot store, become U+FFFD.
    private mutating func string(_ value: String) {
        text += "\""
        defer { text += "\"" }
        guard value.utf8.contains(where: { $0 < 0x20 || $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") }) else {
            text += value
            return
        }
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case "\n": text += "\\n"
            case "\0": text += "\u{FFFD}"
            case "\u{01}"..."\u{1F}":
                text += "\\u" + scalar.value.hexadecimal(digits: 4)
            default: text.unicodeScalars.append(scalar)
            }
        }
    }
}
