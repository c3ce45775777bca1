/// The chunks of a PNG file one after another, as far as their heads lie within it; nothing in them is trusted.
package struct PNGChunks: Sequence, IteratorProtocol {
    package struct Chunk {
        /// Four letters.
        let type: Slice<UnsafeRawBufferPointer>
        /// Where the data begins.
        let start: Int
        /// Bytes of data by the chunk's own word, which may lie beyond the file's end.
        let length: Int

        /// Where the next chunk begins: after data and checksum.
        var end: Int { start + length + 4 }

        func isNamed(_ name: StaticString) -> Bool { name.withUTF8Buffer { $0.elementsEqual(type) } }
    }

    private let bytes: UnsafeRawBufferPointer
    /// After the signature.
    private var offset = 8

    init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    package mutating func next() -> Chunk? {
        guard offset + 8 <= bytes.count else { return nil }
        let length = bytes[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) }
        let chunk = Chunk(type: bytes[offset + 4..<offset + 8], start: offset + 8, length: length)
        offset = chunk.end
        return chunk
    }

    /// Where the chunks of pixels end; nil where there are none or the file ends before.
    package static func endOfPixels(_ bytes: UnsafeRawBufferPointer) -> Int? {
        var end: Int?
        for chunk in PNGChunks(bytes) {
            if chunk.isNamed("IDAT") { end = chunk.end } else if end != nil { break }
        }
        return end.flatMap { $0 <= bytes.count ? $0 : nil }
    }
}
