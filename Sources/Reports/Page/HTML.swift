import Terminal

/// Text as markup.
package enum HTML {
    /// Text that is safe between tags and in quoted attributes; control characters and marks of direction are shown as
    /// their codes.
    package static func escaped(_ text: String) -> String {
        var result = ""
        for character in PrintableText.text(text).unicodeScalars {
            switch character {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "'": result += "&#39;"
            default: result.unicodeScalars.append(character)
            }
        }
        return result
    }
}
