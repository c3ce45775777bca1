/// Makes untrusted text safe for a terminal: escapes characters that move the cursor or change text direction.
package enum PrintableText {
    /// `\u{1B}` for an escape; also line breaks and direction marks.
    package static func text(_ text: String) -> String {
        replacingHidden(in: text) { "\\u{\(String($0.value, radix: 16, uppercase: true))}" }
    }

    /// JSON with escapes such as `\u001b`: its values stay the same.
    package static func json(_ text: String) -> String {
        replacingHidden(in: text) { scalar in
            String(scalar).utf16.map { unit in
                let digits = String(unit, radix: 16)
                return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            }.joined()
        }
    }

    private static func replacingHidden(in text: String, with code: (Unicode.Scalar) -> String) -> String {
        guard text.unicodeScalars.contains(where: isHidden) else { return text }
        var shown = ""
        for scalar in text.unicodeScalars {
            if isHidden(scalar) { shown += code(scalar) } else { shown.unicodeScalars.append(scalar) }
        }
        return shown
    }

    /// The same for multi-line text: keeps line feeds and tabs.
    package static func lines(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: { isHidden($0) && $0 != "\n" && $0 != "\t" }) else { return text }
        return text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            line.split(separator: "\t", omittingEmptySubsequences: false).map { Self.text(String($0)) }
                .joined(separator: "\t")
        }.joined(separator: "\n")
    }

    private static func isHidden(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate: true
        default: false
        }
    }
}

/// A word of a shell command.
package enum ShellWord {
    /// Unchanged if no character is special, else in single quotes.
    package static func quoted(_ word: String) -> String {
        let isPlain = word.utf8.allSatisfy { byte in
            (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                || "-_./@:%+=,".utf8.contains(byte)
        }
        return isPlain && !word.isEmpty && !word.hasPrefix("-") ? word : "'" + word.replacing("'", with: "'\\''") + "'"
    }
}
