import ImageModel

/// Values in lines of text.
package enum LogValue {
    /// Plain words are unchanged; other text is quoted with `"`, `\` and control characters escaped.
    package static func quoted(_ text: String) -> String {
        let isPlain =
            !text.isEmpty
            && text.unicodeScalars.allSatisfy { $0.value > 0x20 && !"\"\\=\u{7F}".unicodeScalars.contains($0) }
        return isPlain ? text : "\"\(escaped(text, and: "\"\\"))\""
    }

    /// With control characters escaped.
    package static func oneLine(_ text: String) -> String { escaped(text, and: "") }

    private static func escaped(_ text: String, and others: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\n": result += "\\n"
            case "\r": result += "\\r"
            case "\t": result += "\\t"
            case _ where scalar.value < 0x20 || scalar.value == 0x7F:
                result += "\\x" + scalar.value.hexadecimal(digits: 2)
            case _ where others.unicodeScalars.contains(scalar): result += "\\\(scalar)"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}
