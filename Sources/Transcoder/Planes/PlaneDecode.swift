private import CPlanes
private import CWebP
private import Glibc
internal import ImageModel

extension PlanarPicture {
    /// Whether a file is decoded to planes: opaque, still and of 8 bits. Of JPEG and lossy WebP they are those in the
    /// file, luma at the finest sampling and both planes of chroma alike or none; of PNG and lossless WebP they are
    /// made of the pixels.
    static func isDecoded(in bytes: UnsafeRawBufferPointer, _ format: ImageFormat) -> Bool {
        switch format {
        case .jpeg: return JPEGReader(bytes, shrink: 1) != nil
        case .webp:
            var features = WebPBitstreamFeatures()
            let status = WebPGetFeatures(bytes.bindMemory(to: UInt8.self).baseAddress, bytes.count, &features)
            return status == VP8_STATUS_OK && features.has_alpha == 0 && features.has_animation == 0
        case .png: return PNGReader(bytes) != nil
        default: return false
        }
    }

    /// Decodes a picture for which `isDecoded` holds, as stored.
    ///
    /// - Parameter shrink: libjpeg's shrinking while it decodes, 1, 2, 4 or 8; other formats ignore it.
    /// - Throws: `PlaneFailure` when the file is cut short or broken, or there is no memory.
    init(decoding bytes: UnsafeRawBufferPointer, _ header: SourceHeader, shrink: Int) throws(PlaneFailure) {
        switch header.format {
        case .jpeg: try self.init(jpeg: bytes, header, shrink: shrink)
        case .png:
            guard let reader = PNGReader(bytes) else { throw PlaneFailure(message: "no planes") }
            self = try reader.picture()
        case .webp:
            var features = WebPBitstreamFeatures()
            WebPGetFeatures(bytes.bindMemory(to: UInt8.self).baseAddress, bytes.count, &features)
            self = features.format == 2 ? try .init(losslessWebP: bytes, header) : try .init(webp: bytes, header)
        default: throw PlaneFailure(message: "there are no planes in a \(header.format.name)")
        }
    }

    private init(jpeg bytes: UnsafeRawBufferPointer, _ header: SourceHeader, shrink: Int) throws(PlaneFailure) {
        guard let reader = JPEGReader(bytes, shrink: shrink) else { throw PlaneFailure(message: "no planes") }
        var planes = try reader.planes()
        for plane in planes { plane.continueRows() }
        if planes.count == 1 { planes += [try SamplePlane.neutral(), try SamplePlane.neutral()] }
        self.init(size: header.storedSize, luma: planes[0], blue: planes[1], red: planes[2])
    }

    private init(webp bytes: UnsafeRawBufferPointer, _ header: SourceHeader) throws(PlaneFailure) {
        let size = header.storedSize
        let (width, height) = ((size.width + 1) / 2, (size.height + 1) / 2)
        let luma = try SamplePlane(
            width: size.width, height: size.height, across: Double(size.width), down: Double(size.height))
        var chroma: [SamplePlane] = []
        for _ in 0..<2 {
            chroma.append(
                try SamplePlane(
                    width: width, height: height, across: Double(size.width) / 2, down: Double(size.height) / 2))
        }
        // Only into room for just these planes: a file that turns out to be larger fails.
        let decoded = WebPDecodeYUVInto(
            bytes.bindMemory(to: UInt8.self).baseAddress, bytes.count, luma.start, luma.stride * luma.height,
            Int32(luma.stride), chroma[0].start, chroma[0].stride * height, Int32(chroma[0].stride), chroma[1].start,
            chroma[1].stride * height, Int32(chroma[1].stride))
        guard decoded != nil else { throw PlaneFailure(message: "libwebp gives up") }
        SampleRange.lumaToFull.apply(to: luma)
        for plane in chroma { SampleRange.chromaToFull.apply(to: plane) }
        self.init(size: size, luma: luma, blue: chroma[0], red: chroma[1])
    }
}

extension PlanarPicture {
    /// libwebp holds all of a lossless picture, so its pixels may as well be given at once.
    private init(losslessWebP bytes: UnsafeRawBufferPointer, _ header: SourceHeader) throws(PlaneFailure) {
        let size = header.storedSize, stride = size.width * 3
        guard let memory = malloc(stride * size.height) else { throw PlaneFailure.memory }
        defer { free(memory) }
        let pixels = memory.assumingMemoryBound(to: UInt8.self)
        guard let frame = WebPFrame(bytes), frame.size == size else {
            throw PlaneFailure(message: "no frame of the picture's size")
        }
        guard frame.decode(into: pixels, stride: stride) else { throw PlaneFailure(message: "libwebp gives up") }
        try self.init(roomFor: size, isGrey: false)
        for y in 0..<size.height { fill(row: y, rgb: pixels + y * stride) }
        for plane in planes { plane.continueRows() }
    }
}

/// The first frame alone of a WebP, as libvips has it: what follows in the file is no part of it.
private struct WebPFrame: ~Copyable {
    private let container: OpaquePointer
    private let frame: WebPIterator

    /// Nil where there is none. `bytes` must outlive the frame.
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

    /// Fills as many rows as the frame has with red, green and blue; false where it is broken.
    func decode(into pixels: UnsafeMutablePointer<UInt8>, stride: Int) -> Bool {
        let room = stride * size.height
        return WebPDecodeRGBInto(frame.fragment.bytes, frame.fragment.size, pixels, room, Int32(stride)) != nil
    }
}

/// libjpeg about to decode one file into planes.
private struct JPEGReader: ~Copyable {
    private let handle: OpaquePointer

    /// Nil where the file has no such planes. `bytes` must outlive the reader.
    init?(_ bytes: UnsafeRawBufferPointer, shrink: Int) {
        guard let handle = larder_jpeg_open(bytes.baseAddress, bytes.count, Int32(shrink)) else { return nil }
        self.handle = handle
    }

    deinit { larder_jpeg_close(handle) }

    /// Luma, and chroma unless it is grey.
    func planes() throws(PlaneFailure) -> [SamplePlane] {
        var planes: [SamplePlane] = []
        for index in 0..<larder_jpeg_planes(handle) {
            let form = larder_jpeg_plane_at(handle, index)
            planes.append(
                try SamplePlane(
                    width: Int(form.width), height: Int(form.height), across: form.across, down: form.down,
                    columns: Int(form.columns), rows: Int(form.rows)))
        }
        let starts = planes.map { Optional($0.start) }, strides = planes.map(\.stride)
        guard larder_jpeg_read(handle, starts, strides) == 0 else {
            throw PlaneFailure(message: String(cString: larder_jpeg_message(handle)))
        }
        return planes
    }
}
