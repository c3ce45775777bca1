private import CPlanes
private import Glibc
internal import ImageModel

extension PlaneCodec {
    /// The file's planes: luma at the highest resolution, chroma planes of equal size or none.
    static let jpeg = PlaneCodec(
        open: { JPEGReader($0) },
        encoder: Encoder(
            chroma: chroma, range: .full,
            encode: { (image, settings, quality) throws(CodecFailure) in
                try image.jpeg(settings, quality: max(1, quality))
            }))

    /// As libvips if the settings do not define it.
    fileprivate static func chroma(_ settings: EncoderOptions?, quality: Int) -> PlanarImage.Chroma {
        switch settings?.chromaSubsampling {
        case nil: quality >= 90 ? .full : .subsampled420
        case .half: .subsampled420
        case .full: .full
        }
    }
}

/// libjpeg, ready to decode one file to planes.
private struct JPEGReader: ~Copyable, PlaneReader {
    private let handle: OpaquePointer

    /// Nil if the file has no such planes. `bytes` must outlive the reader.
    init?(_ bytes: UnsafeRawBufferPointer) {
        guard let handle = larder_jpeg_open(bytes.baseAddress, bytes.count) else { return nil }
        self.handle = handle
    }

    deinit { larder_jpeg_close(handle) }

    var hasAlpha: Bool { false }

    consuming func decode(_ size: PixelSize, shrink: Int) throws(CodecFailure) -> PlanarImage {
        try check(larder_jpeg_shrink(handle, Int32(shrink)))
        let planes = try planes()
        for plane in planes { plane.padEdges() }
        guard planes.count > 1 else { return PlanarImage(size: size, grey: planes[0]) }
        return PlanarImage(size: size, luma: planes[0], cb: planes[1], cr: planes[2])
    }

    /// Luma and chroma, or luma alone.
    private func planes() throws(CodecFailure) -> [SamplePlane] {
        var planes: [SamplePlane] = []
        for index in 0..<larder_jpeg_planes(handle) {
            let plane = larder_jpeg_plane_at(handle, index)
            planes.append(
                try SamplePlane(
                    width: Int(plane.width), height: Int(plane.height), exactWidth: plane.exact_width,
                    exactHeight: plane.exact_height, columns: Int(plane.columns), rows: Int(plane.rows)))
        }
        let starts = planes.map { Optional($0.start) }, strides = planes.map(\.stride)
        try check(larder_jpeg_read(handle, starts, strides))
        return planes
    }

    private func check(_ result: Int32) throws(CodecFailure) {
        guard result == 0 else { throw CodecFailure(message: String(cString: larder_jpeg_message(handle))) }
    }
}

extension PlanarImage {
    fileprivate func jpeg(_ settings: EncoderOptions?, quality: Int) throws(CodecFailure) -> EncodedFile {
        var image = larder_jpeg_image()
        (image.width, image.height) = (Int32(size.width), Int32(size.height))
        image.is_420 = PlaneCodec.chroma(settings, quality: quality) == .subsampled420 ? 1 : 0
        image.is_progressive = settings?.progressive == true ? 1 : 0
        image.has_standard_tables = settings?.optimizeCoding == false ? 1 : 0
        image.is_grey = model == .grey ? 1 : 0
        let (first, last) = (colors[0], colors[colors.count - 1]), second = model == .grey ? first : colors[1]
        image.planes = (UnsafePointer(first.start), UnsafePointer(second.start), UnsafePointer(last.start))
        image.strides = (first.stride, second.stride, last.stride)
        var start: UnsafeMutablePointer<UInt8>?
        var count = 0
        guard larder_jpeg_write(&image, Int32(quality), &start, &count) == 0 else {
            throw CodecFailure(message: "libjpeg failed")
        }
        return EncodedFile(start, count: count, { free($0) })
    }
}
