private import CPlanes
private import CWebP
private import Glibc
internal import ImageModel

/// Encoded bytes in the memory of the codec that wrote them.
struct EncodedPlanes: ~Copyable {
    let bytes: UnsafeRawBufferPointer
    private let release: @convention(c) (UnsafeMutableRawPointer?) -> Void

    fileprivate init(
        _ start: UnsafeMutablePointer<UInt8>?, count: Int,
        _ release: @escaping @convention(c) (UnsafeMutableRawPointer?) -> Void
    ) {
        bytes = UnsafeRawBufferPointer(start: start, count: count)
        self.release = release
    }

    deinit { release(UnsafeMutableRawPointer(mutating: bytes.baseAddress)) }
}

extension PlanarPicture {
    /// Encodes the picture without any metadata, with the settings libvips' path has.
    ///
    /// - Parameters:
    ///   - format: `jpeg` or `webp`.
    ///   - quality: 0…100.
    ///   - chroma: what the picture has.
    func encoded(_ format: ImageFormat, quality: Int, chroma: Chroma) throws(PlaneFailure) -> EncodedPlanes {
        let wanted = Self.chroma(format, quality: quality)
        guard wanted == chroma else {
            let other = try drawn(PlaneView(whole: size), chroma: wanted)
            return try other.encoded(format, quality: quality, chroma: wanted)
        }
        switch format {
        case .jpeg: return try jpeg(quality: max(1, quality), chroma)
        case .webp: return try webp(quality: quality)
        default: throw PlaneFailure(message: "planes do not become \(format.name)")
        }
    }

    /// The planes of chroma a file has: 4:2:0, but 4:4:4 in a JPEG of quality 90 and more, as libvips has it.
    static func chroma(_ format: ImageFormat, quality: Int) -> Chroma {
        format == .jpeg && quality >= 90 ? .full : .halved
    }

    private func jpeg(quality: Int, _ chroma: Chroma) throws(PlaneFailure) -> EncodedPlanes {
        var picture = larder_jpeg_picture()
        (picture.width, picture.height) = (Int32(size.width), Int32(size.height))
        picture.isHalved = chroma == .halved ? 1 : 0
        picture.planes = (UnsafePointer(luma.start), UnsafePointer(blue.start), UnsafePointer(red.start))
        picture.strides = (luma.stride, blue.stride, red.stride)
        var start: UnsafeMutablePointer<UInt8>?
        var count = 0
        guard larder_jpeg_write(&picture, Int32(quality), &start, &count) == 0 else {
            throw PlaneFailure(message: "libjpeg gives up")
        }
        return EncodedPlanes(start, count: count, { free($0) })
    }

    private func webp(quality: Int) throws(PlaneFailure) -> EncodedPlanes {
        let limited = [
            try SampleRange.lumaToLimited.applied(to: luma), try SampleRange.chromaToLimited.applied(to: blue),
            try SampleRange.chromaToLimited.applied(to: red),
        ]
        var configuration = WebPConfig()
        var picture = WebPPicture()
        guard WebPConfigPreset(&configuration, WEBP_PRESET_DEFAULT, Float(quality)) != 0, WebPPictureInit(&picture) != 0
        else { throw PlaneFailure(message: "libwebp is of another version") }
        configuration.method = 4
        (picture.width, picture.height) = (Int32(size.width), Int32(size.height))
        picture.use_argb = 0
        (picture.y, picture.u, picture.v) = (limited[0].start, limited[1].start, limited[2].start)
        (picture.y_stride, picture.uv_stride) = (Int32(limited[0].stride), Int32(limited[1].stride))
        var writer = WebPMemoryWriter()
        WebPMemoryWriterInit(&writer)
        let isWritten = withUnsafeMutablePointer(to: &writer) { writer in
            picture.writer = WebPMemoryWrite
            picture.custom_ptr = UnsafeMutableRawPointer(writer)
            return withExtendedLifetime(limited) { WebPEncode(&configuration, &picture) != 0 }
        }
        let file = EncodedPlanes(writer.mem, count: writer.size, WebPFree)
        guard isWritten else { throw PlaneFailure(message: "libwebp's error \(picture.error_code.rawValue)") }
        return file
    }
}
