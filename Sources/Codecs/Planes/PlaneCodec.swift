internal import ImageModel

/// Decodes a format to planes and encodes it from them, without libvips.
struct PlaneCodec: Sendable {
    /// Reads the header of a file, which must outlive the reader; nil if it cannot be decoded to planes (still, 8
    /// bits).
    let open: @Sendable (UnsafeRawBufferPointer) -> (any PlaneReader & ~Copyable)?
    /// Nil if the format is not written from planes.
    var encoder: Encoder?

    struct Encoder: Sendable {
        /// The chroma of a file with this quality.
        let chroma: @Sendable (_ settings: EncoderOptions?, _ quality: Int) -> PlanarImage.Chroma
        /// The range of its luma and chroma.
        let range: PlanarImage.Range
        /// Encodes an image with that chroma and range, or a grey one, without metadata, with the settings of
        /// `VipsCodec`.
        let encode:
            @Sendable (_ image: PlanarImage, _ settings: EncoderOptions?, _ quality: Int) throws(CodecFailure) ->
                EncodedFile
    }

    static let all: [ImageFormat: PlaneCodec] = [.jpeg: .jpeg, .png: .png, .webp: .webp]
}

extension Encoding {
    /// The chroma written from planes, at the highest quality that is tried.
    var chroma: PlanarImage.Chroma {
        PlaneCodec.all[format]?.encoder?.chroma(options, quality ?? 0) ?? .subsampled420
    }

    /// The range of luma and chroma written from planes.
    var range: PlanarImage.Range { PlaneCodec.all[format]?.encoder?.range ?? .full }
}

/// A file that a library can decode to planes, with its header read.
protocol PlaneReader: ~Copyable {
    var hasAlpha: Bool { get }

    /// Decodes the file in stored orientation.
    ///
    /// - Parameters:
    ///   - size: the size in the header.
    ///   - shrink: libjpeg's shrink factor, 1 for other formats.
    /// - Throws: `CodecFailure` if the file is truncated or broken, or out of memory.
    consuming func decode(_ size: PixelSize, shrink: Int) throws(CodecFailure) -> PlanarImage
}
