private import CWebP
private import Glibc
internal import ImageModel

extension PlaneCodec {
    /// Luma and chroma of an opaque lossy file, else red, green and blue.
    static let webp = PlaneCodec(
        open: { WebPReader($0) },
        encoder: Encoder(
            chroma: { _, _ in .subsampled420 }, range: .limited,
            encode: { (image, settings, quality) throws(CodecFailure) in
                let image = image.model == .grey ? try image.inYCC(.subsampled420, .limited) : image
                return try image.webp(quality: quality, effort: settings?.effort ?? 4)
            }))
}

private struct WebPReader: PlaneReader {
    private let file: UnsafeRawBufferPointer
    private let features: WebPBitstreamFeatures

    /// Nil if the file is invalid or animated. `file` must outlive the reader.
    init?(_ file: UnsafeRawBufferPointer) {
        var features = WebPBitstreamFeatures()
        let status = WebPGetFeatures(file.bindMemory(to: UInt8.self).baseAddress, file.count, &features)
        guard status == VP8_STATUS_OK, features.has_animation == 0 else { return nil }
        (self.file, self.features) = (file, features)
    }

    var hasAlpha: Bool { features.has_alpha != 0 }

    consuming func decode(_ size: PixelSize, shrink: Int) throws(CodecFailure) -> PlanarImage {
        let isLossless = features.format == 2
        return hasAlpha || isLossless
            ? try PlanarImage(pixelsOfWebP: file, size, hasAlpha: hasAlpha) : try PlanarImage(lossyWebP: file, size)
    }
}

extension PlanarImage {
    fileprivate init(lossyWebP file: UnsafeRawBufferPointer, _ size: PixelSize) throws(CodecFailure) {
        let luma = try SamplePlane(size, range: .limitedLuma)
        let cb = try SamplePlane(size, factor: 2, range: .limitedChroma)
        let cr = try SamplePlane(size, factor: 2, range: .limitedChroma)
        // The buffers have exactly this size, so decoding fails if the file is larger than declared.
        let decoded = WebPDecodeYUVInto(
            file.bindMemory(to: UInt8.self).baseAddress, file.count, luma.start, luma.stride * luma.height,
            Int32(luma.stride), cb.start, cb.stride * cb.height, Int32(cb.stride), cr.start, cr.stride * cr.height,
            Int32(cr.stride))
        guard decoded != nil else { throw CodecFailure(message: "libwebp failed") }
        self.init(size: size, luma: luma, cb: cb, cr: cr)
    }

    /// libwebp decodes a lossless image as a whole, so all pixels are read at once.
    fileprivate init(
        pixelsOfWebP file: UnsafeRawBufferPointer, _ size: PixelSize, hasAlpha: Bool
    ) throws(CodecFailure) {
        let stride = size.width * (hasAlpha ? 4 : 3)
        guard let memory = malloc(stride * size.height) else { throw CodecFailure.memory }
        defer { free(memory) }
        let pixels = memory.assumingMemoryBound(to: UInt8.self)
        guard let frame = WebPFrame(file), frame.size == size else {
            throw CodecFailure(message: "no frame of the image's size")
        }
        guard frame.decode(into: pixels, stride: stride, hasAlpha: hasAlpha) else {
            throw CodecFailure(message: "libwebp failed")
        }
        try self.init(uninitialized: size, hasAlpha: hasAlpha)
        for y in 0..<size.height { fill(row: y, pixels: pixels + y * stride) }
        for plane in planes { plane.padEdges() }
    }

    fileprivate func webp(quality: Int, effort: Int) throws(CodecFailure) -> EncodedFile {
        var configuration = WebPConfig()
        var input = WebPPicture()
        guard WebPConfigPreset(&configuration, WEBP_PRESET_DEFAULT, Float(quality)) != 0, WebPPictureInit(&input) != 0
        else { throw CodecFailure(message: "libwebp has another version") }
        configuration.method = Int32(effort)
        (input.width, input.height) = (Int32(size.width), Int32(size.height))
        input.use_argb = 0
        (input.y, input.u, input.v) = (colors[0].start, colors[1].start, colors[2].start)
        (input.y_stride, input.uv_stride) = (Int32(colors[0].stride), Int32(colors[1].stride))
        var writer = WebPMemoryWriter()
        WebPMemoryWriterInit(&writer)
        let isWritten = withUnsafeMutablePointer(to: &writer) { writer in
            input.writer = WebPMemoryWrite
            input.custom_ptr = UnsafeMutableRawPointer(writer)
            return withExtendedLifetime(colors) { WebPEncode(&configuration, &input) != 0 }
        }
        let file = EncodedFile(writer.mem, count: writer.size, WebPFree)
        guard isWritten else { throw CodecFailure(message: "libwebp's error \(input.error_code.rawValue)") }
        return file
    }
}

/// The first frame of a WebP, as libvips reads it: trailing data is ignored.
private struct WebPFrame: ~Copyable {
    private let container: OpaquePointer
    private let frame: WebPIterator

    /// Nil if there is none. `bytes` must outlive the frame.
    init?(_ bytes: UnsafeRawBufferPointer) {
        var data = WebPData(bytes: bytes.bindMemory(to: UInt8.self).baseAddress, size: bytes.count)
        guard let container = WebPDemux(&data) else { return nil }
        var frame = WebPIterator()
        guard WebPDemuxGetFrame(container, 1, &frame) != 0 else {
            WebPDemuxDelete(container)
            return nil
        }
        self.container = container
        self.frame = frame
    }

    deinit {
        var frame = frame
        WebPDemuxReleaseIterator(&frame)
        WebPDemuxDelete(container)
    }

    var size: PixelSize { PixelSize(width: Int(frame.width), height: Int(frame.height)) }

    /// Writes red, green, blue, and straight alpha if wanted, for all rows; false if invalid.
    func decode(into pixels: UnsafeMutablePointer<UInt8>, stride: Int, hasAlpha: Bool) -> Bool {
        let decode = hasAlpha ? WebPDecodeRGBAInto : WebPDecodeRGBInto
        return decode(frame.fragment.bytes, frame.fragment.size, pixels, stride * size.height, Int32(stride)) != nil
    }
}
