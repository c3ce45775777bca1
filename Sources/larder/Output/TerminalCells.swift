private import CGLib

/// The cells that text takes on a terminal: two for a wide character such as 写, none for a combining one.
enum TerminalCells {
    static func count(_ text: some StringProtocol) -> Int { text.unicodeScalars.reduce(0) { $0 + width($1) } }

    /// The longest beginning of `text` that takes at most so many cells.
    static func prefix(_ text: some StringProtocol, _ cells: Int) -> String {
        var left = cells
        return String(
            text.prefix { character in
                left -= count(String(character))
                return left >= 0
            })
    }

    private static func width(_ scalar: Unicode.Scalar) -> Int {
        if g_unichar_iszerowidth(scalar.value) != 0 { return 0 }
        return g_unichar_iswide(scalar.value) != 0 ? 2 : 1
    }
}
