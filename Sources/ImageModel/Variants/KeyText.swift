private import Glibc

extension Double {
    /// C's `%f` in every locale: six decimals, ties to even on the exact binary value, the sign of -0.0 kept.
    var keyText: String {
        let text = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 400) { buffer in
            let length = withVaList([self]) { vsnprintf(buffer.baseAddress, buffer.count, "%f", $0) }
            return String(decoding: buffer.prefix(Int(length)).lazy.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }
        guard isFinite else { return text }
        // The locale's decimal point is replaced.
        return "\(text.prefix { $0 == "-" || $0.isWholeNumber }).\(text.suffix(6))"
    }
}

extension Bool {
    var keyText: String { self ? "1" : "0" }
}
