extension BinaryInteger {
    /// At least `digits` hexadecimal digits, in lower case by default.
    package func hexadecimal(digits: Int, uppercase: Bool = false) -> String {
        let text = String(self, radix: 16, uppercase: uppercase)
        return String(repeating: "0", count: max(0, digits - text.utf8.count)) + text
    }
}
