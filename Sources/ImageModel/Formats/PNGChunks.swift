/// Reads the chunks of a PNG file whose heads lie within it. Checks all lengths.
package enum PNGChunks {
    /// The frames declared by an `acTL` chunk before the first `IDAT`, else 1.
    package static func frames(_ bytes: UnsafeRawBufferPointer) -> Int {
        var count = 1
        scan(bytes) { type, length, _ in
            if bytes.has("acTL", at: type), length >= 8 { count = max(1, bytes.bigEndian(at: type + 4) ?? 1) }
            return !bytes.has("acTL", at: type) && !bytes.has("IDAT", at: type)
        }
        return count
    }

    /// The end of the `IDAT` chunks; nil if there are none or the file ends before.
    package static func endOfPixels(_ bytes: UnsafeRawBufferPointer) -> Int? {
        var last: Int?
        scan(bytes) { type, _, end in
            let isPixels = bytes.has("IDAT", at: type)
            if isPixels { last = end }
            return isPixels || last == nil
        }
        return last.flatMap { $0 <= bytes.count ? $0 : nil }
    }

    /// An animated PNG's declared end, beyond its actual end if truncated; 0 for a still, in which the codec detects
    /// missing pixels.
    @Sendable static func declaredEnd(_ bytes: UnsafeRawBufferPointer) -> Int {
        guard frames(bytes) > 1 else { return 0 }
        var end = bytes.count + 1
        scan(bytes) { type, _, next in
            let isLast = bytes.has("IEND", at: type)
            if isLast || next > bytes.count { end = next }
            return !isLast
        }
        return end
    }

    /// Compressed texts, including those after the pixels.
    @Sendable static func compressedTexts(_ bytes: UnsafeRawBufferPointer) -> Int {
        var count = 0
        scan(bytes) { type, _, _ in
            if bytes.has("zTXt", at: type) || bytes.has("iTXt", at: type) { count += 1 }
            return true
        }
        return count
    }

    /// Calls `body` with each chunk's type offset, declared length and the offset after its checksum, until it returns
    /// false. The length may exceed the file.
    package static func scan(_ bytes: UnsafeRawBufferPointer, _ body: (_ type: Int, _ length: Int, _ end: Int) -> Bool)
    {
        var offset = 8
        while offset + 8 <= bytes.count, let length = bytes.bigEndian(at: offset) {
            let end = offset + 12 + length
            guard body(offset + 4, length, end) else { return }
            offset = end
        }
    }

    /// A chunk: length, type, content and checksum.
    package static func chunk(_ type: StaticString, _ content: [UInt8]) -> [UInt8] {
        let checked = type.withUTF8Buffer { Array($0) } + content
        return bytes(content.count) + checked + bytes(Int(checked.withUnsafeBytes { checksum($0) }))
    }

    /// Four bytes, big-endian.
    package static func bytes(_ number: Int) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
    }

    /// The CRC-32 (ISO 3309) of a chunk's type and content.
    package static func checksum(_ bytes: UnsafeRawBufferPointer) -> UInt32 {
        remainders.withUnsafeBufferPointer { remainders in
            ~bytes.reduce(UInt32.max) { remainders[Int(UInt8(truncatingIfNeeded: $0) ^ $1)] ^ $0 >> 8 }
        }
    }

    private static let remainders: [UInt32] = (0..<256).map { byte in
        (0..<8).reduce(UInt32(byte)) { value, _ in value & 1 == 1 ? 0xEDB8_8320 ^ value >> 1 : value >> 1 }
    }
}
