private import CSpng
internal import ImageModel

extension PlaneCodec {
    /// Red, green and blue, or luma.
    static let png = PlaneCodec(open: { PNGReader($0) })
}

/// libspng, ready to decode one still PNG.
private struct PNGReader: ~Copyable, PlaneReader {
    private let context: OpaquePointer
    private let size: PixelSize
    private let isGrey, isInterlaced: Bool
    let hasAlpha: Bool

    /// Longer chunks are not allocated: pixels need none.
    private static let maxChunkBytes = 8 << 20

    /// Nil for files that only libvips decodes: 16 bits, animated, and truncated or invalid before the pixels. `bytes`
    /// must outlive the reader.
    init?(_ bytes: UnsafeRawBufferPointer) {
        // As in libvips: ignores data after the pixels and the checksum within their compressed form.
        guard PNGChunks.frames(bytes) == 1, let end = PNGChunks.endOfPixels(bytes),
            let context = spng_ctx_new(Int32(SPNG_CTX_IGNORE_ADLER32.rawValue))
        else { return nil }
        guard let (header, isTransparent) = Self.header(context, UnsafeRawBufferPointer(rebasing: bytes[..<end])) else {
            spng_ctx_free(context)
            return nil
        }
        self.context = context
        size = PixelSize(width: Int(header.width), height: Int(header.height))
        isInterlaced = header.interlace_method != SPNG_INTERLACE_NONE.rawValue
        let withAlpha = [SPNG_COLOR_TYPE_GRAYSCALE_ALPHA, SPNG_COLOR_TYPE_TRUECOLOR_ALPHA]
        hasAlpha = isTransparent || withAlpha.contains { $0.rawValue == header.color_type }
        isGrey = header.color_type == SPNG_COLOR_TYPE_GRAYSCALE.rawValue && !hasAlpha
    }

    deinit { spng_ctx_free(context) }

    private static func header(
        _ context: OpaquePointer, _ bytes: UnsafeRawBufferPointer
    ) -> (spng_ihdr, isTransparent: Bool)? {
        var header = spng_ihdr(), transparency = spng_trns()
        guard spng_set_chunk_limits(context, maxChunkBytes, maxChunkBytes) == 0,
            spng_set_png_buffer(context, bytes.baseAddress, bytes.count) == 0, spng_get_ihdr(context, &header) == 0,
            header.bit_depth <= 8
        else { return nil }
        switch spng_get_trns(context, &transparency) {
        case 0: return (header, true)
        case Int32(SPNG_ECHUNKAVAIL.rawValue): return (header, false)
        default: return nil
        }
    }

    /// Without interlacing, only one row is held as pixels.
    consuming func decode(_ size: PixelSize, shrink: Int) throws(CodecFailure) -> PlanarImage {
        guard size == self.size else { throw CodecFailure(message: "libspng has another size") }
        let format = isGrey ? SPNG_FMT_G8 : hasAlpha ? SPNG_FMT_RGBA8 : SPNG_FMT_RGB8
        let bytes = size.width * (isGrey ? 1 : hasAlpha ? 4 : 3), rows = isInterlaced ? size.height : 1
        let flags = SPNG_DECODE_TRNS.rawValue | (isInterlaced ? 0 : SPNG_DECODE_PROGRESSIVE.rawValue)
        let pixels = try SamplePlane(PixelSize(width: bytes, height: rows))
        let image =
            isGrey
            ? PlanarImage(size: size, grey: try SamplePlane(size))
            : try PlanarImage(uninitialized: size, hasAlpha: hasAlpha)
        let whole = isInterlaced ? pixels.start : nil
        try check(spng_decode_image(context, whole, bytes * rows, Int32(format.rawValue), Int32(flags)))
        for y in 0..<size.height {
            let row = isInterlaced ? pixels.start + y * bytes : isGrey ? image.colors[0].row(y) : pixels.start
            if !isInterlaced {
                try check(spng_decode_row(context, row, bytes), end: y == size.height - 1 ? SPNG_EOI : SPNG_OK)
            }
            if !isGrey { image.fill(row: y, pixels: row) }
            if isGrey && isInterlaced { image.colors[0].row(y).update(from: row, count: bytes) }
        }
        // Checks the last chunk's checksum, then reaches the end of the data.
        try check(spng_decode_chunks(context), end: SPNG_IO_EOF)
        for plane in image.planes { plane.padEdges() }
        return image
    }

    /// - Parameter end: a further result that means success.
    private func check(_ result: Int32, end: spng_errno = SPNG_OK) throws(CodecFailure) {
        guard result == 0 || result == end.rawValue else {
            throw CodecFailure(message: "libspng: \(String(cString: spng_strerror(result)))")
        }
    }
}
