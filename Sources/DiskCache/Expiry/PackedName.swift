/// The name of a file in 20 bytes: the sixteen that its digits mean, and the number of what follows them.
struct PackedName: Hashable, Comparable, Sendable {
    private let high, low: UInt64
    /// Where in the table the rest of the name stands: an extension, or all of an irregular name.
    private let rest: UInt32

    /// Of names that SDWebImage gives, only the extensions are kept apart, each once and as long as a name is held with it.
    struct Table {
        private var numbers: [Rest: UInt32] = [:]
        /// By number: the text, and by how many names it is held.
        private var rests: [(rest: Rest, names: Int)] = []
        private var free: [UInt32] = []

        /// How many different ones are kept.
        var count: Int { numbers.count }

        /// Equal byte for byte: strings are so already when they look the same, and then name different files.
        private struct Rest: Hashable {
            let text: String
            let isWhole: Bool

            static func == (left: Rest, right: Rest) -> Bool {
                left.isWhole == right.isWhole && left.text.utf8.elementsEqual(right.text.utf8)
            }

            func hash(into hasher: inout Hasher) {
                var text = text
                text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
                hasher.combine(isWhole)
            }
        }

        /// The compact form of `name`, which is held until it is released.
        mutating func compact(_ name: String) -> PackedName {
            let (digest, rest) = Self.split(name)
            return PackedName(high: digest.0, low: digest.1, rest: number(of: rest))
        }

        /// The compact form of a name that is held; nil for others.
        func find(_ name: String) -> PackedName? {
            let (digest, rest) = Self.split(name)
            return numbers[rest].map { PackedName(high: digest.0, low: digest.1, rest: $0) }
        }

        /// The name that was made compact.
        func text(_ name: PackedName) -> String {
            let rest = rests[Int(name.rest)].rest
            return rest.isWhole ? rest.text : Self.hexadecimal(name.high) + Self.hexadecimal(name.low) + rest.text
        }

        /// Holds the name no longer: as often as it was made compact.
        mutating func release(_ name: PackedName) {
            let place = Int(name.rest)
            rests[place].names -= 1
            guard rests[place].names == 0 else { return }
            numbers[rests[place].rest] = nil
            rests[place].rest = Rest(text: "", isWhole: true)
            free.append(name.rest)
        }

        private mutating func number(of rest: Rest) -> UInt32 {
            if let number = numbers[rest] {
                rests[Int(number)].names += 1
                return number
            }
            let number = free.popLast() ?? UInt32(rests.count)
            numbers[rest] = number
            if Int(number) == rests.count { rests.append((rest, 1)) } else { rests[Int(number)] = (rest, 1) }
            return number
        }

        private static func split(_ name: String) -> ((UInt64, UInt64), Rest) {
            guard let digest = digest(name) else { return ((0, 0), Rest(text: name, isWhole: true)) }
            return (digest, Rest(text: String(decoding: name.utf8.dropFirst(32), as: UTF8.self), isWhole: false))
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

    static func < (left: PackedName, right: PackedName) -> Bool {
        (left.high, left.low, left.rest) < (right.high, right.low, right.rest)
    }
}
