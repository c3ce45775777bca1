extension ImageTableFormat {
    package var pixelWidth: Int { width * scale }
    package var pixelHeight: Int { height * scale }

    /// Converts pixels to the format of `ImageTable.store`. Styles without alpha get a black background, as in
    /// FastImageCache.
    ///
    /// - Parameter rgba: red, green, blue, straight alpha of `pixelWidth` × `pixelHeight` pixels, top to bottom.
    /// - Throws: `StoreError.tooLarge` for another number of pixels.
    package func pixels(fromRGBA rgba: [UInt8]) throws(StoreError) -> [UInt8] {
        guard rgba.count == pixelWidth * pixelHeight * 4 else {
            throw StoreError(
                .tooLarge, "convert \(rgba.count) bytes to \(pixelWidth) × \(pixelHeight) pixels for", name)
        }
        var bytes = [UInt8](repeating: 0, count: imageLength)
        for row in 0..<pixelHeight {
            for column in 0..<pixelWidth {
                let source = (row * pixelWidth + column) * 4
                let alpha = rgba[source + 3]
                store(
                    red: Self.multiplied(rgba[source], alpha), green: Self.multiplied(rgba[source + 1], alpha),
                    blue: Self.multiplied(rgba[source + 2], alpha), alpha: alpha, in: &bytes,
                    at: row * rowLength + column * style.bytesPerPixel)
            }
        }
        return bytes
    }

    private func store(red: UInt8, green: UInt8, blue: UInt8, alpha: UInt8, in bytes: inout [UInt8], at offset: Int) {
        switch style {
        case .bgra32, .bgr32:
            bytes[offset] = blue
            bytes[offset + 1] = green
            bytes[offset + 2] = red
            bytes[offset + 3] = style == .bgra32 ? alpha : 255
        case .rgb16:
            // Little-endian; the highest bit is unused.
            var word = UInt16(red >> 3) << 10
            word |= UInt16(green >> 3) << 5
            word |= UInt16(blue >> 3)
            bytes[offset] = UInt8(truncatingIfNeeded: word)
            bytes[offset + 1] = UInt8(word >> 8)
        case .grey8:
            // The weights of Rec. 601, in thousandths.
            let sum: Int = 299 * Int(red) + 587 * Int(green) + 114 * Int(blue)
            bytes[offset] = UInt8((sum + 500) / 1000)
        }
    }

    private static func multiplied(_ value: UInt8, _ alpha: UInt8) -> UInt8 {
        let product = Int(value) * Int(alpha)
        return UInt8((product + 127) / 255)
    }
}
