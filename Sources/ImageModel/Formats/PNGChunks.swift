/// The chunks of a PNG file whose heads lie within it; nothing in them is trusted.
package struct PNGChunks: Sequence, IteratorProtocol {
    package struct Chunk {
        /// Where the four letters of the type begin.
        let typeStart: Int
        /// The length of the data that the chunk declares, which may pass the file's end.
        let length: Int

        var start: Int { typeStart + 4 }
        /// Where the next chunk begins: after data and checksum.
        var end: Int { start + length + 4 }
    }

    private let bytes: UnsafeRawBufferPointer
    /// After the signature.
    private var offset = 8

    init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    package mutating func next() -> Chunk? {
        guard offset + 8 <= bytes.count, let length = bytes.bigEndian(at: offset) else { return nil }
        let chunk = Chunk(typeStart: offset + 4, length: length)
        offset = chunk.end
        return chunk
    }

    /// The number of frames that an `acTL` chunk before the first `IDAT` declares, else 1. libvips does not read it.
    @Sendable package static func frames(_ bytes: UnsafeRawBufferPointer) -> Int {
        for chunk in PNGChunks(bytes) {
            if bytes.has("IDAT", at: chunk.typeStart) { return 1 }
            if bytes.has("acTL", at: chunk.typeStart) {
                return chunk.length >= 8 ? Swift.max(1, bytes.bigEndian(at: chunk.start) ?? 1) : 1
            }
        }
        return 1
    }

    /// Where the `IDAT` chunks end; nil where there are none or the file ends before.
    package static func endOfPixels(_ bytes: UnsafeRawBufferPointer) -> Int? {
        var end: Int?
        for chunk in PNGChunks(bytes) {
            if bytes.has("IDAT", at: chunk.typeStart) { end = chunk.end } else if end != nil { break }
        }
        return end.flatMap { $0 <= bytes.count ? $0 : nil }
    }
}
