internal import ImageModel

/// Replaces bytes before a codec reads a file that it would refuse but browsers draw.
struct FileEdit: Sendable, Hashable {
    let offset: Int
    let bytes: [UInt8]
}

/// Repairs a HEIF container for libheif 1.15. Checks all lengths.
enum HEIFRepair {
    @Sendable static func edits(_ bytes: UnsafeRawBufferPointer) -> [FileEdit] {
        let file = ISOBoxes(bytes, in: 0..<bytes.count)
        var edits: [FileEdit] = []
        if let brands = file.first("ftyp"), let edit = brand(bytes, brands) { edits.append(edit) }
        guard let meta = file.first("meta") else { return edits }
        // A length of 0 makes a box reach to the end of the file.
        if meta.lowerBound >= 8, bytes.bigEndian(at: meta.lowerBound - 8) == 0 {
            edits.append(FileEdit(offset: meta.lowerBound - 8, bytes: PNGChunks.bytes(meta.count + 8)))
        }
        let properties = ISOBoxes(bytes, in: meta.dropFirst(4)).first("iprp").map { ISOBoxes(bytes, in: $0) }
        guard let properties, let all = properties.first("ipco") else { return edits }
        let turns: [StaticString] = ["irot", "imir", "clap"]
        let kinds = ISOBoxes(bytes, in: all).map { box in turns.contains { bytes.has($0, at: box.type) } }
        for box in properties where bytes.has("ipma", at: box.type) {
            for entry in HEIFAssociations(bytes, box.content) {
                let isTurn = entry.properties.map { $0 >= 1 && $0 <= kinds.count && kinds[$0 - 1] }
                // Descriptive properties must precede transforming ones (ISO/IEC 23008-12, 6.5.1).
                let order = isTurn.indices.filter { !isTurn[$0] } + isTurn.indices.filter { isTurn[$0] }
                guard order != Array(isTurn.indices) else { continue }
                let moved = order.flatMap { bytes[entry.places[$0]] }
                edits.append(FileEdit(offset: entry.places[0].lowerBound, bytes: moved))
            }
        }
        return edits
    }

    /// Replaces the first compatible brand of an AVIF sequence by `avif` if it has no still's brand (`avif`, `mif1`).
    private static func brand(_ bytes: UnsafeRawBufferPointer, _ content: Range<Int>) -> FileEdit? {
        let places = stride(from: content.lowerBound + 8, to: content.upperBound - 3, by: 4)
        guard bytes.has("avis", at: content.lowerBound), let first = places.first(where: { _ in true }),
            !places.contains(where: { bytes.has("avif", at: $0) || bytes.has("mif1", at: $0) })
        else { return nil }
        return FileEdit(offset: first, bytes: Array("avif".utf8))
    }
}

/// The entries of a box `ipma` (ISO/IEC 23008-12, 9.3.1).
struct HEIFAssociations: Sequence {
    struct Entry {
        let item: Int
        /// One-based indexes into `ipco`.
        let properties: [Int]
        /// The position of each number in the file.
        let places: [Range<Int>]
    }

    private let bytes: UnsafeRawBufferPointer
    private let box: Range<Int>

    init(_ bytes: UnsafeRawBufferPointer, _ box: Range<Int>) {
        self.bytes = bytes
        self.box = box
    }

    func makeIterator() -> AnyIterator<Entry> {
        guard let head = bytes.bigEndian(at: box.lowerBound), var left = bytes.bigEndian(at: box.lowerBound + 4) else {
            return AnyIterator { nil }
        }
        let (itemSize, indexSize) = (head >> 24 == 0 ? 2 : 4, head & 1 == 1 ? 2 : 1)
        var offset = box.lowerBound + 8
        return AnyIterator {
            guard left > 0, offset < box.upperBound, let item = bytes.bigEndian(at: offset, length: itemSize),
                let count = bytes.bigEndian(at: offset + itemSize, length: 1)
            else { return nil }
            let first = offset + itemSize + 1
            offset = first + count * indexSize
            left -= 1
            guard offset <= box.upperBound else { return nil }
            let places = (0..<count).map { first + $0 * indexSize..<first + ($0 + 1) * indexSize }
            // The highest bit marks a property that readers must understand.
            let properties = places.compactMap { place in
                bytes.bigEndian(at: place.lowerBound, length: indexSize).map { $0 & (indexSize == 2 ? 0x7FFF : 0x7F) }
            }
            return properties.count == count ? Entry(item: item, properties: properties, places: places) : nil
        }
    }
}

enum PNGRepair {
    /// Renames unessential chunks with a wrong checksum before the pixels, so that every reader ignores them, and moves
    /// a transparency chunk behind the palette.
    @Sendable static func edits(_ bytes: UnsafeRawBufferPointer) -> [FileEdit] {
        var edits: [FileEdit] = [], transparency: Range<Int>?, chunks = 0
        PNGChunks.scan(bytes) { type, length, end in
            chunks += 1
            guard end <= bytes.count, !bytes.has("IDAT", at: type), chunks < 1000 else { return false }
            let chunk = type - 4..<end
            if bytes[type] & 0x20 != 0, length <= 1 << 20 {
                let sum = PNGChunks.checksum(UnsafeRawBufferPointer(rebasing: bytes[type..<type + 4 + length]))
                if bytes.bigEndian(at: type + 4 + length) != Int(sum) {
                    edits.append(ignored(bytes, type, length))
                    return true
                }
            }
            if bytes.has("tRNS", at: type) { transparency = transparency ?? chunk }
            if bytes.has("PLTE", at: type), let moved = transparency {
                edits.append(
                    FileEdit(
                        offset: moved.lowerBound,
                        bytes: bytes[moved.upperBound..<end] + Array(bytes[moved])))
                transparency = nil
            }
            return true
        }
        return edits
    }

    /// The chunk with an unknown name, and its checksum.
    private static func ignored(_ bytes: UnsafeRawBufferPointer, _ type: Int, _ length: Int) -> FileEdit {
        let checked = Array("laRd".utf8) + bytes[type + 4..<type + 4 + length]
        let sum = checked.withUnsafeBytes { PNGChunks.checksum($0) }
        return FileEdit(offset: type, bytes: checked + PNGChunks.bytes(Int(sum)))
    }
}
