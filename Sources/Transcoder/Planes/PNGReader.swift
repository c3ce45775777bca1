private import CSpng
internal import ImageModel

/// libspng about to decode one still, opaque PNG row by row.
struct PNGReader: ~Copyable {
    private let context: OpaquePointer
    private let size: PixelSize
    private let isGrey: Bool

    /// Chunks of more bytes than this are no reason to take memory: no pixel needs them.
    private static let mostChunkBytes = 8 << 20

    /// Nil for what libvips must see: 16 bits, transparency, interlaced and animated pictures, and files that are cut
    /// short or have anything unsound before the pixels. `bytes` must outlive the reader.
    init?(_ bytes: UnsafeRawBufferPointer) {
        // What follows the pixels is nothing to libvips, and neither is the checksum within their compressed form.
        guard AnimatedPNG.frames(bytes) == 1, let end = PNGChunks.endOfPixels(bytes),
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
        guard spng_set_chunk_limits(context, mostChunkBytes, mostChunkBytes) == 0,
            spng_set_png_buffer(context, bytes.baseAddress, bytes.count) == 0, spng_get_ihdr(context, &header) == 0,
            spng_get_trns(context, &transparency) == SPNG_ECHUNKAVAIL.rawValue
        else { return nil }
        let kinds = [SPNG_COLOR_TYPE_GRAYSCALE, SPNG_COLOR_TYPE_TRUECOLOR, SPNG_COLOR_TYPE_INDEXED]
        let isPlain = header.bit_depth <= 8 && header.interlace_method == SPNG_INTERLACE_NONE.rawValue
        return isPlain && kinds.contains { $0.rawValue == header.color_type } ? header : nil
    }

    /// Decodes the picture; no more of it than a row is ever held as red, green and blue.
    ///
    /// - Throws: `PlaneFailure` when the file is cut short or broken, or there is no memory.
    func picture() throws(PlaneFailure) -> PlanarPicture {
        let format = isGrey ? SPNG_FMT_G8 : SPNG_FMT_RGB8
        try check(spng_decode_image(context, nil, 0, Int32(format.rawValue), Int32(SPNG_DECODE_PROGRESSIVE.rawValue)))
        let picture = try PlanarPicture(roomFor: size, isGrey: isGrey)
        let count = size.width * (isGrey ? 1 : 3)
        let pixels = try SamplePlane(width: count, height: 1, across: Double(count), down: 1)
        for y in 0..<size.height {
            let row = isGrey ? picture.luma.start + y * picture.luma.stride : pixels.start
            try check(spng_decode_row(context, row, count), end: y == size.height - 1 ? SPNG_EOI : SPNG_OK)
            if !isGrey { picture.fill(row: y, rgb: pixels.start) }
        }
        // Compares the checksum of the last chunk, then finds nothing more.
        try check(spng_decode_chunks(context), end: SPNG_IO_EOF)
        for plane in picture.planes { plane.continueRows() }
        return picture
    }

    /// - Parameter end: what stands for success, too.
    private func check(_ result: Int32, end: spng_errno = SPNG_OK) throws(PlaneFailure) {
        guard result == 0 || result == end.rawValue else {
            throw PlaneFailure(message: "libspng: \(String(cString: spng_strerror(result)))")
        }
    }
}
