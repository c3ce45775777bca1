/// Text from outside for a terminal: what could move the cursor or turn the order of text is shown as its code.
enum PrintableText {
    /// `\u{1B}` for an escape; line breaks and marks of direction likewise.
    static func text(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isHidden) else { return text }
        var shown = ""
        for scalar in text.unicodeScalars {
            if isHidden(scalar) {
                shown += "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
            } else {
                shown.unicodeScalars.append(scalar)
            }
        }
        return shown
    }

    /// The same for text of several lines and columns: line feeds and tabs stay.
    static func lines(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: { isHidden($0) && $0 != "\n" && $0 != "\t" }) else { return text }
        return text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            line.split(separator: "\t", omittingEmptySubsequences: false).map { Self.text(String($0)) }
                .joined(separator: "\t")
        }.joined(separator: "\n")
    }

    /// Whether a scalar could move the cursor, end a line or turn the order of text.
    static func isHidden(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate: true
        default: false
        }
    }
}
