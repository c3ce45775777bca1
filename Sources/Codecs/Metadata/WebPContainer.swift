private import ImageModel

/// The chunks of a WebP file.
enum WebPContainer {
    /// The file without EXIF, XMP and profile, except what is to be kept; nil when its chunks are not sound.
    ///
    /// `webpsave` of libvips 8.14.1 writes EXIF even for an image that has none.
    @Sendable static func withoutMetadata(
        _ file: UnsafeRawBufferPointer, keepingEXIF: Bool = false, keepingICC: Bool = false
    ) -> [UInt8]? {
        guard file.has("RIFF", at: 0), file.has("WEBP", at: 8) else { return nil }
        var kept = Array(file[0..<12])
        kept.reserveCapacity(file.count)
        var offset = 12
        while offset < file.count {
            guard offset + 8 <= file.count, let length = file.littleEndian(at: offset + 4) else { return nil }
            // Chunks are padded to an even length.
            let next = offset + 8 + length + length % 2
            guard next <= file.count else { return nil }
            if file.has("VP8X", at: offset) && length > 0 {
                // The flags that announce a profile, EXIF and XMP.
                let flags = kept.count + 8
                kept += file[offset..<next]
                kept[flags] &= ~(0x04 | (keepingEXIF ? 0 : 0x08) | (keepingICC ? 0 : 0x20))
            } else if file.has("EXIF", at: offset)
                ? keepingEXIF : file.has("ICCP", at: offset) ? keepingICC : !file.has("XMP ", at: offset)
            {
                kept += file[offset..<next]
            }
            offset = next
        }
        for byte in 0..<4 { kept[4 + byte] = UInt8(truncatingIfNeeded: (kept.count - 8) >> (8 * byte)) }
        return kept
    }
}
