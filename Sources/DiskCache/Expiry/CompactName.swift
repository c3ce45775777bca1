/// The name of a file in 20 bytes: the sixteen that its digits mean, and the number of what follows them.
struct CompactName: Hashable, Comparable, Sendable {
    private let high, low: UInt64
    /// Where in the table the rest of the name stands: an extension, or all of an irregular name.
    private let rest: UInt32

    /// Of names that SDWebImage gives, only the extensions are kept apart, each once.
    struct Table {
        private var numbers: [Rest: UInt32] = [:]
        private var rests: [Rest] = []

        private struct Rest: Hashable {
            let text: String
            let isWhole: Bool
        }

        /// The compact form of `name`.
        mutating func compact(_ name: String) -> CompactName {
            guard let (high, low) = Self.digest(name) else {
                return CompactName(high: 0, low: 0, rest: number(of: Rest(text: name, isWhole: true)))
            }
            let rest = Rest(text: String(decoding: name.utf8.dropFirst(32), as: UTF8.self), isWhole: false)
            return CompactName(high: high, low: low, rest: number(of: rest))
        }

        /// The name that was made compact.
        func text(_ name: CompactName) -> String {
            let rest = rests[Int(name.rest)]
            return rest.isWhole ? rest.text : Self.hexadecimal(name.high) + Self.hexadecimal(name.low) + rest.text
        }

        private mutating func number(of rest: Rest) -> UInt32 {
            if let number = numbers[rest] { return number }
            let number = UInt32(rests.count)
            numbers[rest] = number
            rests.append(rest)
            return number
        }

        /// The number that 32 lower-case hexadecimal digits at the start of `name` mean.
        private static func digest(_ name: String) -> (UInt64, UInt64)? {
            var words: (UInt64, UInt64) = (0, 0)
            var count = 0
            for byte in name.utf8 {
                if count == 32 { break }
                let digit: UInt8
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = byte - UInt8(ascii: "0")
                case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = byte - UInt8(ascii: "a") + 10
                default: return nil
                }
                words.0 = words.0 << 4 | words.1 >> 60
                words.1 = words.1 << 4 | UInt64(digit)
                count += 1
            }
            return count == 32 ? words : nil
        }

        private static func hexadecimal(_ word: UInt64) -> String {
            let digits = String(word, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }
    }

    static func < (left: CompactName, right: CompactName) -> Bool {
        (left.high, left.low, left.rest) < (right.high, right.low, right.rest)
    }
}
