/// Reads names and numbers in a file's bytes; every offset is allowed.
extension Collection where Element == UInt8, Index == Int {
    /// Whether the ASCII of `text` is at `offset`.
    package func has(_ text: StaticString, at offset: Int) -> Bool {
        text.withUTF8Buffer { text in
            offset >= 0 && offset + text.count <= count && self[offset..<offset + text.count].elementsEqual(text)
        }
    }

    /// Whether the bytes contain the ASCII of `text`.
    package func contains(bytes text: StaticString) -> Bool { indices.contains { has(text, at: $0) } }

    /// The unsigned big-endian number of `length` bytes; nil if the bytes end before.
    package func bigEndian(at offset: Int, length: Int = 4) -> Int? {
        guard offset >= 0, offset + length <= count else { return nil }
        return self[offset..<offset + length].reduce(0) { $0 << 8 | Int($1) }
    }

    /// The unsigned little-endian number of `length` bytes; nil if the bytes end before.
    package func littleEndian(at offset: Int, length: Int = 4) -> Int? {
        guard offset >= 0, offset + length <= count else { return nil }
        return (0..<length).reduce(0) { $0 | Int(self[offset + $1]) << (8 * $1) }
    }
}
