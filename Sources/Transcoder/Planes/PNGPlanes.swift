private import CSpng
internal import ImageModel

extension PlaneCodec {
    /// Converted from the pixels, row by row.
    static let png = PlaneCodec(
        canDecode: { PNGReader($0) != nil },
        decode: { (file, _, _) throws(CodecFailure) in
            guard let reader = PNGReader(file) else { throw CodecFailure(message: "no planes") }
            return try reader.image()
        })
}

/// libspng, ready to decode one still, opaque PNG row by row.
private struct PNGReader: ~Copyable {
    private let context: OpaquePointer
    private let size: PixelSize
    private let isGrey: Bool

    /// No memory is allocated for a longer chunk: pixels need none.
    private static let maxChunkBytes = 8 << 20

    /// Nil for files that only libvips decodes: 16 bits, transparency, interlaced, animated, and those that are
    /// truncated or invalid before the pixels. `bytes` must outlive the reader.
    init?(_ bytes: UnsafeRawBufferPointer) {
        // As libvips: data after the pixels, and the checksum within their compressed form, are ignored.
        guard PNGChunks.frames(bytes) == 1, let end = PNGChunks.endOfPixels(bytes),
            let context = spng_ctx_new(Int32(SPNG_CTX_IGNORE_ADLER32.rawValue))
        else { return nil }
        guard let header = Self.header(context, UnsafeRawBufferPointer(rebasing: bytes[..<end])) else {
            spng_ctx_free(context)
            return nil
        }
        self.context = context
        size = PixelSize(width: Int(header.width), height: Int(header.height))
        isGrey = header.color_type == SPNG_COLOR_TYPE_GRAYSCALE.rawValue
    }

    deinit { spng_ctx_free(context) }

    private static func header(_ context: OpaquePointer, _ bytes: UnsafeRawBufferPointer) -> spng_ihdr? {
        var header = spng_ihdr(), transparency = spng_trns()
        guard spng_set_chunk_limits(context, maxChunkBytes, maxChunkBytes) == 0,
            spng_set_png_buffer(context, bytes.baseAddress, bytes.count) == 0, spng_get_ihdr(context, &header) == 0,
            spng_get_trns(context, &transparency) == SPNG_ECHUNKAVAIL.rawValue
        else { return nil }
        let kinds = [SPNG_COLOR_TYPE_GRAYSCALE, SPNG_COLOR_TYPE_TRUECOLOR, SPNG_COLOR_TYPE_INDEXED]
        let isSupported = header.bit_depth <= 8 && header.interlace_method == SPNG_INTERLACE_NONE.rawValue
        return isSupported && kinds.contains { $0.rawValue == header.color_type } ? header : nil
    }

    /// Decodes the image; only one row is held as red, green and blue.
    ///
    /// - Throws: `CodecFailure` when the file is truncated or broken, or there is no memory.
    func image() throws(CodecFailure) -> PlanarImage {
        let format = isGrey ? SPNG_FMT_G8 : SPNG_FMT_RGB8
        try check(spng_decode_image(context, nil, 0, Int32(format.rawValue), Int32(SPNG_DECODE_PROGRESSIVE.rawValue)))
        let image = try PlanarImage(uninitialized: size, isGrey: isGrey)
        let count = size.width * (isGrey ? 1 : 3)
        let pixels = try SamplePlane(PixelSize(width: count, height: 1))
        for y in 0..<size.height {
            let row = isGrey ? image.luma.start + y * image.luma.stride : pixels.start
            try check(spng_decode_row(context, row, count), end: y == size.height - 1 ? SPNG_EOI : SPNG_OK)
            if !isGrey { image.fill(row: y, rgb: pixels.start) }
        }
        // Compares the checksum of the last chunk, then reaches the end of the data.
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
