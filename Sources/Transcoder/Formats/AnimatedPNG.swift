/// The chunks of a PNG file as far as they tell whether it is animated, which libvips does not see.
package enum AnimatedPNG {
    /// The number of frames: that of an `acTL` chunk before the first `IDAT`, else 1.
    ///
    /// - Parameter bytes: the whole file; nothing in it is trusted.
    package static func frames(_ bytes: UnsafeRawBufferPointer) -> Int {
        func number(at offset: Int) -> Int { (0..<4).reduce(0) { $0 << 8 | Int(bytes[offset + $1]) } }
        func has(_ type: StaticString, at offset: Int) -> Bool {
            type.withUTF8Buffer { $0.elementsEqual(bytes[offset..<offset + 4]) }
        }
        var offset = 8
        while offset + 8 <= bytes.count {
            let length = number(at: offset)
            if has("IDAT", at: offset + 4) { return 1 }
            if has("acTL", at: offset + 4) {
                guard length >= 8, offset + 12 <= bytes.count else { return 1 }
                return max(1, number(at: offset + 8))
            }
            offset += 12 + length
        }
        return 1
    }
}
