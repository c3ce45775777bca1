private import Foundation

extension Double {
    /// C's `%f` in every locale: six decimals, ties to even on the exact binary value, the sign of -0.0 kept.
    var keyText: String {
        let text = String(format: "%f", self)
        guard isFinite else { return text }
        // The decimal point is the locale's.
        return "\(text.prefix { $0 == "-" || $0.isWholeNumber }).\(text.suffix(6))"
    }
}

extension Bool {
    var keyText: String { self ? "1" : "0" }
}
