private import CPlanes
private import CWebP

extension PlanarPicture {
    /// Whether a file holds planes of luma and chroma that can be taken as they are: 8-bit, luma at the finest sampling,
    /// both planes of chroma alike or none, opaque and still. In WebP that is the lossy kind.
    static func isStored(in bytes: UnsafeRawBufferPointer, _ format: ImageFormat) -> Bool {
        switch format {
        case .jpeg: return JPEGReader(bytes, shrink: 1) != nil
        case .webp:
            var features = WebPBitstreamFeatures()
            let status = WebPGetFeatures(bytes.bindMemory(to: UInt8.self).baseAddress, bytes.count, &features)
            let isLossy = features.format == 1
            return status == VP8_STATUS_OK && isLossy && features.has_alpha == 0 && features.has_animation == 0
        default: return false
        }
    }

    /// Decodes a picture for which `isStored` holds, as stored.
    ///
    /// - Parameter shrink: libjpeg's shrinking while it decodes, 1, 2, 4 or 8; WebP ignores it.
    /// - Throws: `PlaneFailure` when the file is cut short or broken, or there is no memory.
    init(decoding bytes: UnsafeRawBufferPointer, _ header: SourceHeader, shrink: Int) throws(PlaneFailure) {
        switch header.format {
        case .jpeg: try self.init(jpeg: bytes, header, shrink: shrink)
        case .webp: try self.init(webp: bytes, header)
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
