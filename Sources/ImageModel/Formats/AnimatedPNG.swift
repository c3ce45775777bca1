/// The chunks of a PNG file as far as they tell whether it is animated, which libvips does not see.
package enum AnimatedPNG {
    /// The number of frames: that of an `acTL` chunk before the first `IDAT`, else 1.
    ///
    /// - Parameter bytes: the whole file; nothing in it is trusted.
    package static func frames(_ bytes: UnsafeRawBufferPointer) -> Int {
        for chunk in PNGChunks(bytes) {
            if chunk.isNamed("IDAT") { return 1 }
            if chunk.isNamed("acTL") {
                guard chunk.length >= 8, chunk.start + 4 <= bytes.count else { return 1 }
                return max(1, bytes[chunk.start..<chunk.start + 4].reduce(0) { $0 << 8 | Int($1) })
            }
        }
        return 1
    }
}
