private import ImageModel

/// A file name in 20 bytes: a 16-byte MD5 and an index for the rest of the name.
struct PackedName: Hashable, Comparable, Sendable {
    private let high, low: UInt64
    /// The table index of an extension, or of a whole name that does not begin with an MD5.
    private let rest: UInt32

    /// Keeps each distinct extension once, while a packed name refers to it.
    struct Table {
        private var indexes: [Rest: UInt32] = [:]
        /// By index, with reference counts.
        private var rests: [(rest: Rest, uses: Int)] = []
        private var free: [UInt32] = []

        /// Distinct extensions and whole names.
        var count: Int { indexes.count }

        /// Compared byte by byte: Swift compares strings by canonical equivalence, unlike file names.
        private struct Rest: Hashable {
            let bytes: [UInt8]
            let isWholeName: Bool
        }

        /// Packs a name, to be released later.
        mutating func pack(_ name: String) -> PackedName {
            let (digest, rest) = Self.split(name)
            return PackedName(high: digest.0, low: digest.1, rest: index(of: rest))
        }

        /// The packed form of a kept name; nil for others.
        func find(_ name: String) -> PackedName? {
            let (digest, rest) = Self.split(name)
            return indexes[rest].map { PackedName(high: digest.0, low: digest.1, rest: $0) }
        }

        func text(_ name: PackedName) -> String {
            let rest = rests[Int(name.rest)].rest
            let text = String(decoding: rest.bytes, as: UTF8.self)
            return rest.isWholeName ? text : name.high.hexadecimal(digits: 16) + name.low.hexadecimal(digits: 16) + text
        }

        /// Undoes one call of `pack`.
        mutating func release(_ name: PackedName) {
            let index = Int(name.rest)
            rests[index].uses -= 1
            guard rests[index].uses == 0 else { return }
            indexes[rests[index].rest] = nil
            rests[index].rest = Rest(bytes: [], isWholeName: true)
            free.append(name.rest)
        }

        private mutating func index(of rest: Rest) -> UInt32 {
            if let index = indexes[rest] {
                rests[Int(index)].uses += 1
                return index
            }
            let index = free.popLast() ?? UInt32(rests.count)
            indexes[rest] = index
            if Int(index) == rests.count { rests.append((rest, 1)) } else { rests[Int(index)] = (rest, 1) }
            return index
        }

        private static func split(_ name: String) -> ((UInt64, UInt64), Rest) {
            let bytes = Array(name.utf8)
            guard let digest = digest(bytes) else { return ((0, 0), Rest(bytes: bytes, isWholeName: true)) }
            return (digest, Rest(bytes: Array(bytes.dropFirst(32)), isWholeName: false))
        }

        /// The value of 32 leading lower-case hexadecimal digits; nil if there are fewer.
        private static func digest(_ name: [UInt8]) -> (UInt64, UInt64)? {
            guard name.count >= 32 else { return nil }
            var words: (UInt64, UInt64) = (0, 0)
            for byte in name.prefix(32) {
                let digit: UInt8
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = byte - UInt8(ascii: "0")
                case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = byte - UInt8(ascii: "a") + 10
                default: return nil
                }
                words.0 = words.0 << 4 | words.1 >> 60
                words.1 = words.1 << 4 | UInt64(digit)
            }
            return words
        }
    }

    static func < (left: PackedName, right: PackedName) -> Bool {
        (left.high, left.low, left.rest) < (right.high, right.low, right.rest)
    }
}
