private import CSpng
private import CVips
private import CWebP
internal import ImageModel
internal import Transcoder

/// Completes the first part of a file, so that the usual way of decoding draws what has arrived.
///
/// A JPEG or GIF is closed where it is cut. The pixels of a PNG or WebP are decoded as far as they go and written as a
/// PNG without compression, in which missing rows are transparent. An animated PNG or WebP keeps its whole frames.
enum PartialFile {
    /// The memory for one pixel of a PNG or WebP: decoded, in the completed file, and drawn; in bytes.
    private static let bytesPerPixel = 16

    /// The completed file; nil for a format that is not drawn in part, and while there is nothing to draw.
    ///
    /// - Parameter reserve: called with the memory that decoding needs, in bytes, once the size is within the limits.
    /// - Throws: `TranscodeError` 202, 203, 205 and what `reserve` throws.
    static func completed(
        _ part: UnsafeRawBufferPointer, _ limits: TranscodeLimits, reserve: (Int) throws(TranscodeError) -> Void
    ) throws(TranscodeError) -> [UInt8]? {
        guard let format = ImageFormat.recognise(Array(part.prefix(ImageFormat.recognisedBytes))) else { return nil }
        switch format {
        case .jpeg: return part + [0xFF, 0xD9]
        case .gif: return closedGIF(part)
        case .webp:
            if let frames = wholeFrames(ofWebP: part) { return frames }
        case .png:
            guard hasPixels(part) else { return nil }
            if endsAfterPixels(part) { return closedPNG(part) }
        default: return nil
        }
        guard case .pixels(let width, let height) = DeclaredSize(part, format: format) else { return nil }
        let size = PixelSize(width: width, height: height)
        try limits.check(SourceHeader(format: format, width: width, height: height))
        try limits.checkMemory(size.area * bytesPerPixel)
        try reserve(size.area * bytesPerPixel)
        return format == .png ? pixels(ofPNG: part, size) : pixels(ofWebP: part, size)
    }

    /// A PNG of what `decode` has drawn on transparent ground; nil when it returns false, and without memory.
    private static func png(
        _ size: PixelSize, profile: [UInt8]? = nil, _ decode: (UnsafeMutablePointer<UInt8>) -> Bool
    ) -> [UInt8]? {
        var isDrawn = false
        let image = try? LibvipsImage(width: size.width, height: size.height, bands: 4) { pixels in
            pixels.update(repeating: 0, count: size.area * 4)
            isDrawn = decode(pixels)
        }
        guard isDrawn, let image else { return nil }
        if let profile { vips_image_set_blob_copy(image.pointer, "icc-profile-data", profile, profile.count) }
        guard let file = try? image.saved("pngsave_buffer", "compression=0") else { return nil }
        return withExtendedLifetime(file) { Array(file.bytes) }
    }
}

// MARK: - GIF

extension PartialFile {
    /// The file with its last block closed; nil without a pixel.
    private static func closedGIF(_ part: UnsafeRawBufferPointer) -> [UInt8]? {
        var offset = 13 + GIFCoverage.tableLength(part, 10)
        var end = 0
        while offset < part.count, part[offset] == 0x21 || part[offset] == 0x2C {
            let start = offset, isImage = part[start] == 0x2C
            offset += isImage ? 11 + GIFCoverage.tableLength(part, start + 9) : 2
            let data = offset
            while offset < part.count, part[offset] > 0, offset + Int(part[offset]) < part.count {
                offset += 1 + Int(part[offset])
            }
            if offset < part.count, part[offset] == 0 {
                offset += 1
                if isImage { end = offset }
                continue
            }
            guard isImage, part.count > data + 1 else { break }
            var file = Array(part)
            if offset < file.count { file[offset] = UInt8(file.count - offset - 1) }
            return file + (file.count == offset + 1 ? [0x3B] : [0, 0x3B])
        }
        return end == 0 ? nil : part[..<end] + [0x3B]
    }
}

// MARK: - PNG

extension PartialFile {
    private static func hasPixels(_ part: UnsafeRawBufferPointer) -> Bool {
        var isFound = false
        PNGChunks.scan(part) { type, _, _ in
            isFound = part.has("IDAT", at: type)
            return !isFound
        }
        return isFound
    }

    /// Whether a chunk follows the pixels of the default image.
    private static func endsAfterPixels(_ part: UnsafeRawBufferPointer) -> Bool {
        guard let end = PNGChunks.endOfPixels(part) else { return false }
        return part.count >= end + 8
    }

    /// The whole chunks, and the pixels of one that is cut.
    private static func closedPNG(_ part: UnsafeRawBufferPointer) -> [UInt8] {
        var end = 8, cut: [UInt8] = []
        PNGChunks.scan(part) { type, length, next in
            if next <= part.count {
                end = next
            } else if part.has("IDAT", at: type) {
                cut = PNGChunks.chunk("IDAT", Array(part[type + 4..<min(type + 4 + length, part.count)]))
            }
            return next <= part.count
        }
        return part[..<end] + cut + PNGChunks.chunk("IEND", [])
    }

    private static func pixels(ofPNG part: UnsafeRawBufferPointer, _ size: PixelSize) -> [UInt8]? {
        let made = png(size) { pixels in
            closedPNG(part).withUnsafeBytes { decode(png: $0, size, into: pixels) }
        }
        guard let made else { return nil }
        var colours: [UInt8] = []
        // The profile of a grey image does not fit the pixels, which have red, green and blue.
        let names: [StaticString] = ["sRGB", "gAMA", "cHRM", "cICP", "eXIf"] + (part[25] & 2 == 0 ? [] : ["iCCP"])
        PNGChunks.scan(part) { type, _, next in
            if names.contains(where: { part.has($0, at: type) }) { colours += part[type - 4..<next] }
            return !part.has("IDAT", at: type)
        }
        // Behind the signature and the header.
        return made[..<33] + colours + made[33...]
    }

    /// Decodes rows until the data ends; false without a row.
    private static func decode(
        png file: UnsafeRawBufferPointer, _ size: PixelSize, into pixels: UnsafeMutablePointer<UInt8>
    ) -> Bool {
        guard let context = spng_ctx_new(Int32(SPNG_CTX_IGNORE_ADLER32.rawValue)) else { return false }
        defer { spng_ctx_free(context) }
        var header = spng_ihdr()
        let flags = Int32(SPNG_DECODE_TRNS.rawValue | SPNG_DECODE_PROGRESSIVE.rawValue)
        guard spng_set_chunk_limits(context, 8 << 20, 8 << 20) == 0,
            spng_set_png_buffer(context, file.baseAddress, file.count) == 0, spng_get_ihdr(context, &header) == 0,
            spng_decode_image(context, nil, 0, Int32(SPNG_FMT_RGBA8.rawValue), flags) == 0
        else { return false }
        var row = spng_row_info(), last: spng_row_info?
        while spng_get_row_info(context, &row) == 0 {
            let result = spng_decode_row(context, pixels + Int(row.row_num) * size.width * 4, size.width * 4)
            guard result == 0 || result == SPNG_EOI.rawValue else { break }
            last = row
        }
        guard let last else { return false }
        if header.interlace_method != SPNG_INTERLACE_NONE.rawValue {
            fillBlocks(pixels, size, pass: Int(last.pass), row: Int(last.row_num))
        }
        return true
    }

    /// Repeats each pixel of the last pass of an interlaced PNG over the pixels that later passes have.
    ///
    /// - Parameter row: the last row of that pass; below it, the pass before counts.
    private static func fillBlocks(_ pixels: UnsafeMutablePointer<UInt8>, _ size: PixelSize, pass: Int, row: Int) {
        let blocks = [(8, 8), (4, 8), (4, 4), (2, 4), (2, 2), (1, 2), (1, 1)]
        for y in 0..<size.height {
            var (width, height) = blocks[pass]
            if y - y % height > row {
                guard pass > 0 else { return }
                (width, height) = blocks[pass - 1]
            }
            let from = pixels + (y - y % height) * size.width * 4, to = pixels + y * size.width * 4
            for x in 0..<size.width where x % width != 0 || y % height != 0 {
                (to + x * 4).update(from: from + (x - x % width) * 4, count: 4)
            }
        }
    }
}

// MARK: - WebP

extension PartialFile {
    /// An animation up to its last whole frame; nil for a still, and without a frame.
    private static func wholeFrames(ofWebP part: UnsafeRawBufferPointer) -> [UInt8]? {
        guard part.has("VP8X", at: 12), part.count > 20, part[20] & 2 != 0 else { return nil }
        var end = 0
        scan(webp: part) { start, next in if part.has("ANMF", at: start) { end = next } }
        guard end > 0 else { return nil }
        var file = Array(part[..<end])
        for byte in 0..<4 { file[4 + byte] = UInt8(truncatingIfNeeded: (end - 8) >> (8 * byte)) }
        return file
    }

    private static func pixels(ofWebP part: UnsafeRawBufferPointer, _ size: PixelSize) -> [UInt8]? {
        var profile: [UInt8]?
        scan(webp: part) { start, next in if part.has("ICCP", at: start) { profile = Array(part[start + 8..<next]) } }
        return png(size, profile: profile) { pixels in
            let bytes = part.bindMemory(to: UInt8.self).baseAddress
            var features = WebPBitstreamFeatures(), rows: Int32 = 0
            guard WebPGetFeatures(bytes, part.count, &features) == VP8_STATUS_OK, features.has_animation == 0,
                size == PixelSize(width: Int(features.width), height: Int(features.height)),
                let decoder = WebPINewRGB(MODE_RGBA, pixels, size.area * 4, Int32(size.width * 4))
            else { return false }
            defer { WebPIDelete(decoder) }
            let status = WebPIUpdate(decoder, bytes, part.count)
            guard status == VP8_STATUS_OK || status == VP8_STATUS_SUSPENDED else { return false }
            return WebPIDecGetRGB(decoder, &rows, nil, nil, nil) != nil && rows > 0
        }
    }

    /// Calls `body` with the start and the end of each whole chunk.
    private static func scan(webp part: UnsafeRawBufferPointer, _ body: (_ start: Int, _ next: Int) -> Void) {
        var start = 12
        while let length = part.littleEndian(at: start + 4), start + 8 + length <= part.count {
            body(start, start + 8 + length)
            start += 8 + length + length % 2
        }
    }
}
