extension [UInt8] {
    /// Whether the ASCII of `text` stands at `offset`.
    package func has(_ text: StaticString, at offset: Int) -> Bool {
        text.withUTF8Buffer { wanted in
            offset >= 0 && offset + wanted.count <= count && self[offset..<offset + wanted.count].elementsEqual(wanted)
        }
    }

    /// Whether the ASCII of `text` stands anywhere.
    func contains(bytes text: StaticString) -> Bool {
        indices.contains { has(text, at: $0) }
    }

    /// The unsigned number of `length` bytes at `offset`, most significant first; nil where the bytes end before.
    package func bigEndian(at offset: Int, length: Int = 4) -> Int? {
        guard offset >= 0, offset + length <= count else { return nil }
        return self[offset..<offset + length].reduce(0) { $0 << 8 | Int($1) }
    }
}
