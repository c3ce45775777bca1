/// The orientation in XMP, used when EXIF has none. Some programs write only this one, and Apple's codecs, which
/// SDWebImage uses, apply it.
enum XMPOrientation {
    /// 1…8; nil when there is none. Searches for the property in its two forms and does not parse RDF.
    static func read(_ xmp: [UInt8]) -> Int? {
        let name = Array("tiff:Orientation".utf8)
        guard xmp.count > name.count + 2 else { return nil }
        let quotes: [UInt8] = [UInt8(ascii: "\""), UInt8(ascii: "'")]
        for start in 0..<(xmp.count - name.count - 2) where xmp[start..<start + name.count].elementsEqual(name) {
            // tiff:Orientation="3", or <tiff:Orientation>3</tiff:Orientation>.
            let after = Array(xmp[(start + name.count)...].prefix(3))
            let isAttribute = after.count == 3 && after[0] == UInt8(ascii: "=") && quotes.contains(after[1])
            let digit = isAttribute ? after[2] : after[0] == UInt8(ascii: ">") ? after[1] : 0
            if (UInt8(ascii: "1")...UInt8(ascii: "8")).contains(digit) { return Int(digit - UInt8(ascii: "0")) }
        }
        return nil
    }
}
