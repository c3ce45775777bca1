private import ImageModel

/// Colour facts in the boxes of a HEIF container's primary image. Checks all lengths.
///
/// libvips 8.14.1 returns the profile, but not the code points or whether the colours are premultiplied.
enum HEIFColor {
    @Sendable static func read(_ bytes: UnsafeRawBufferPointer) -> ColorDescription.Source? {
        let file = ISOBoxes(bytes, in: 0..<bytes.count)
        // `meta` and the boxes below begin with a version and flags.
        guard let meta = file.first("meta")?.dropFirst(4).boxes(bytes),
            let primary = meta.first("pitm").flatMap({ item(bytes, $0) })
        else { return nil }
        var source = ColorDescription.Source()
        source.isPremultiplied = meta.first("iref").map { isPremultiplied(bytes, $0, primary) } ?? false
        guard let properties = meta.first("iprp")?.boxes(bytes), let all = properties.first("ipco")?.boxes(bytes) else {
            return source
        }
        let kinds = Array(all)
        let entry = properties.first("ipma").flatMap { box in
            HEIFAssociations(bytes, box).first { $0.item == primary }
        }
        for index in entry?.properties ?? []
        where index >= 1 && index <= kinds.count && bytes.has("colr", at: kinds[index - 1].type) {
            let start = kinds[index - 1].content.lowerBound
            guard bytes.has("nclx", at: start), let primaries = bytes.bigEndian(at: start + 4, length: 2),
                let transfer = bytes.bigEndian(at: start + 6, length: 2)
            else { continue }
            source.description = ColorDescription(primaries: primaries, transfer: transfer)
        }
        return source
    }

    /// The number of the primary item (ISO/IEC 14496-12, 8.11.4).
    private static func item(_ bytes: UnsafeRawBufferPointer, _ box: Range<Int>) -> Int? {
        bytes.bigEndian(at: box.lowerBound).flatMap { version in
            bytes.bigEndian(at: box.lowerBound + 4, length: version >> 24 == 0 ? 2 : 4)
        }
    }

    /// Whether a `prem` reference links the item to its alpha (ISO/IEC 23008-12, 6.10.1.2).
    private static func isPremultiplied(_ bytes: UnsafeRawBufferPointer, _ box: Range<Int>, _ item: Int) -> Bool {
        guard let version = bytes.bigEndian(at: box.lowerBound) else { return false }
        return box.dropFirst(4).boxes(bytes).contains { reference in
            bytes.has("prem", at: reference.type)
                && bytes.bigEndian(at: reference.content.lowerBound, length: version >> 24 == 0 ? 2 : 4) == item
        }
    }
}

extension Range<Int> {
    func dropFirst(_ count: Int) -> Range<Int> { Swift.min(lowerBound + count, upperBound)..<upperBound }

    fileprivate func boxes(_ bytes: UnsafeRawBufferPointer) -> ISOBoxes { ISOBoxes(bytes, in: self) }
}
