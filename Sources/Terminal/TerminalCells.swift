private import CGLib

/// The cells that text takes on a terminal: two for a wide character such as 写, none for a combining one.
package enum TerminalCells {
    package static func count(_ text: some StringProtocol) -> Int { text.unicodeScalars.reduce(0) { $0 + width($1) } }

    /// The longest beginning of `text` that takes at most so many cells.
    package static func prefix(_ text: some StringProtocol, _ cells: Int) -> String {
        var left = cells
        return String(
            text.prefix { character in
                left -= count(String(character))
                return left >= 0
            })
    }

    /// `text`, or its beginning and `…` in so many cells; it ends with a word where one ends in the last half.
    package static func shortened(_ text: String, _ cells: Int) -> String {
        guard count(text) > cells else { return text }
        let start = prefix(text, cells - 1)
        let words = start.lastIndex(of: " ").map { start[..<$0] } ?? ""
        return (count(words) * 2 >= cells ? String(words) : start) + "…"
    }

    private static func width(_ scalar: Unicode.Scalar) -> Int {
        if g_unichar_iszerowidth(scalar.value) != 0 { return 0 }
        return g_unichar_iswide(scalar.value) != 0 ? 2 : 1
    }
}
