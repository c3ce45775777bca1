/// The boxes in a range of an ISO base media file, such as HEIF and AVIF. Omits boxes that exceed the range.
package struct ISOBoxes: Sequence {
    package struct Box {
        /// Offset of its four letters.
        package let type: Int
        package let content: Range<Int>
    }

    private let bytes: UnsafeRawBufferPointer
    private let range: Range<Int>

    package init(_ bytes: UnsafeRawBufferPointer, in range: Range<Int>) {
        self.bytes = bytes
        self.range = range
    }

    package func makeIterator() -> AnyIterator<Box> {
        var offset = range.lowerBound
        return AnyIterator {
            guard let (box, end) = box(at: offset), end <= range.upperBound else { return nil }
            offset = end
            return box
        }
    }

    /// The content of the first box of a type.
    package func first(_ type: StaticString) -> Range<Int>? { first { bytes.has(type, at: $0.type) }?.content }

    private static let outermost: [StaticString] = [
        "ftyp", "meta", "mdat", "moov", "moof", "mfra", "sidx", "free", "skip", "wide", "uuid",
    ]

    /// The declared end of the file's last box, possibly beyond the file's end. Anything but these boxes is trailing
    /// data.
    @Sendable package static func declaredEnd(_ bytes: UnsafeRawBufferPointer) -> Int {
        let file = ISOBoxes(bytes, in: 0..<bytes.count)
        var offset = 0
        while offset < bytes.count, let (box, end) = file.box(at: offset),
            outermost.contains(where: { bytes.has($0, at: box.type) })
        {
            offset = end
        }
        return offset
    }

    /// The file's boxes, and the boxes in `meta` down to items, properties and references.
    @Sendable static func inMeta(_ bytes: UnsafeRawBufferPointer) -> Int {
        let heads: [(name: StaticString, length: Int)] = [
            ("meta", 4), ("iinf", 6), ("iprp", 0), ("ipco", 0), ("iref", 4), ("dinf", 0), ("grpl", 0),
        ]
        func count(_ boxes: ISOBoxes) -> Int {
            boxes.reduce(0) { sum, box in
                guard let head = heads.first(where: { bytes.has($0.name, at: box.type) }) else { return sum + 1 }
                let start = Swift.min(box.content.lowerBound + head.length, box.content.upperBound)
                return sum + 1 + count(ISOBoxes(bytes, in: start..<box.content.upperBound))
            }
        }
        return count(ISOBoxes(bytes, in: 0..<bytes.count))
    }

    /// The box at an offset and its end. Length 0 reaches to the range's end; length 1 means a 64-bit length.
    private func box(at offset: Int) -> (Box, end: Int)? {
        guard offset + 8 <= range.upperBound, var length = bytes.bigEndian(at: offset) else { return nil }
        var head = 8
        if length == 1 {
            guard let high = bytes.bigEndian(at: offset + 8), high < 1 << 24,
                let low = bytes.bigEndian(at: offset + 12)
            else { return nil }
            (head, length) = (16, high << 32 | low)
        } else if length == 0 {
            length = range.upperBound - offset
        }
        guard length >= head else { return nil }
        return (Box(type: offset + 4, content: offset + head..<offset + length), offset + length)
    }
}
