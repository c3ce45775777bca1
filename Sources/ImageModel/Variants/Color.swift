/// A colour in sRGB with straight alpha.
package struct Color: Sendable, Hashable {
    /// Components, 0…1.
    package let red, green, blue, alpha: Double

    /// Nil if a component is outside 0…1: SDWebImage's text for such a colour is undefined.
    package init?(red: Double, green: Double, blue: Double, alpha: Double) {
        guard [red, green, blue, alpha].allSatisfy({ (0...1).contains($0) }) else { return nil }
        (self.red, self.green, self.blue, self.alpha) = (red, green, blue, alpha)
    }

    /// Parses `#aarrggbb`; nil if invalid.
    package init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard bytes.count == 9, bytes[0] == UInt8(ascii: "#") else { return nil }
        let digits = bytes.dropFirst().compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
        guard digits.count == 8 else { return nil }
        func component(_ index: Int) -> Double { Double(digits[index] * 16 + digits[index + 1]) / 255 }
        self.init(red: component(2), green: component(4), blue: component(6), alpha: component(0))
    }

    /// In keys: `#` and eight lower-case digits, alpha red green blue, each component times 255 rounded half away from
    /// zero. Source: SDWebImage 5.21.5, UIColor+SDHexString.
    package var text: String {
        "#"
            + [alpha, red, green, blue].map { component in
                Int((component * 255).rounded(.toNearestOrAwayFromZero)).hexadecimal(digits: 2)
            }.joined()
    }
}
