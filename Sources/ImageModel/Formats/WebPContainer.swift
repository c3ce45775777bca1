/// The chunks of a WebP file.
package enum WebPContainer {
    /// The file without EXIF, XMP and profile, but for what is to be kept; nil when its chunks make no sense.
    ///
    /// `webpsave` of libvips 8.14.1 writes EXIF of its own even for a picture that has none.
    package static func withoutMetadata(
        _ file: UnsafeRawBufferPointer, keepingEXIF: Bool = false, keepingICC: Bool = false
    ) -> [UInt8]? {
        func has(_ name: StaticString, at offset: Int) -> Bool {
            name.withUTF8Buffer { $0.elementsEqual(file[offset..<offset + 4]) }
        }
        guard file.count >= 12, has("RIFF", at: 0), has("WEBP", at: 8) else { return nil }
        var kept = Array(file[0..<12])
        kept.reserveCapacity(file.count)
        var offset = 12
        while offset < file.count {
            guard offset + 8 <= file.count else { return nil }
            let length = (0..<4).reduce(0) { $0 | Int(file[offset + 4 + $1]) << (8 * $1) }
            // Chunks are padded to an even length.
            let next = offset + 8 + length + length % 2
            guard next <= file.count else { return nil }
            if has("VP8X", at: offset) && length > 0 {
                // The flags that announce a profile, EXIF and XMP.
                let flags = kept.count + 8
                kept += file[offset..<next]
                kept[flags] &= ~(0x04 | (keepingEXIF ? 0 : 0x08) | (keepingICC ? 0 : 0x20))
            } else if has("EXIF", at: offset)
                ? keepingEXIF : has("ICCP", at: offset) ? keepingICC : !has("XMP ", at: offset)
            {
                kept += file[offset..<next]
            }
            offset = next
        }
        for byte in 0..<4 { kept[4 + byte] = UInt8(truncatingIfNeeded: (kept.count - 8) >> (8 * byte)) }
        return kept
    }
}
