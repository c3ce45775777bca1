private import CAVIF
internal import ImageModel
internal import Transcoder

/// The frames of an AVIF's track, which libvips does not read. Owns libavif's `avifDecoder`.
struct AVIFSequence: ~Copyable {
    let size: PixelSize
    let hasAlpha: Bool
    /// Duration of each frame in the file.
    let seconds: [Double]
    private let decoder: UnsafeMutablePointer<avifDecoder>

    /// Reads the track's tables without decoding pixels. Nil for a still, and for a track that is invalid, has more
    /// than `SourceHeader.frameLimit` frames, or is rotated, mirrored or cropped. `bytes` must outlive the value.
    init?(_ bytes: UnsafeRawBufferPointer) {
        guard let decoder = avifDecoderCreate() else { return nil }
        guard let image = Self.parse(decoder, bytes) else {
            avifDecoderDestroy(decoder)
            return nil
        }
        self.decoder = decoder
        size = PixelSize(width: Int(image.pointee.width), height: Int(image.pointee.height))
        hasAlpha = decoder.pointee.alphaPresent != 0
        seconds = (0..<UInt32(decoder.pointee.imageCount)).map { number in
            var timing = avifImageTiming()
            return avifDecoderNthImageTiming(decoder, number, &timing) == AVIF_RESULT_OK ? timing.duration : 0
        }
    }

    deinit { avifDecoderDestroy(decoder) }

    private static func parse(
        _ decoder: UnsafeMutablePointer<avifDecoder>, _ bytes: UnsafeRawBufferPointer
    ) -> UnsafeMutablePointer<avifImage>? {
        decoder.pointee.maxThreads = 1
        decoder.pointee.ignoreExif = 1
        decoder.pointee.ignoreXMP = 1
        decoder.pointee.imageCountLimit = UInt32(SourceHeader.frameLimit)
        let start = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
        guard avifDecoderSetSource(decoder, AVIF_DECODER_SOURCE_TRACKS) == AVIF_RESULT_OK,
            avifDecoderSetIOMemory(decoder, start, bytes.count) == AVIF_RESULT_OK,
            avifDecoderParse(decoder) == AVIF_RESULT_OK, decoder.pointee.imageCount > 1,
            let image = decoder.pointee.image
        else { return nil }
        let turns = AVIF_TRANSFORM_IROT.rawValue | AVIF_TRANSFORM_IMIR.rawValue | AVIF_TRANSFORM_CLAP.rawValue
        return image.pointee.transformFlags & turns == 0 ? image : nil
    }

    /// Decodes the first `count` frames in order and calls `body` with each frame's pixels: red, green, blue, straight
    /// alpha, row by row, in the file's colours.
    ///
    /// - Throws: `CodecFailure` for a frame that is broken or has another size.
    func forEachFrame(
        _ count: Int, _ body: ([UInt8]) throws(CodecFailure) -> Void
    ) throws(CodecFailure) {
        var pixels = [UInt8](repeating: 0, count: size.area * 4)
        for _ in 0..<count {
            try Self.check(avifDecoderNextImage(decoder))
            guard let image = decoder.pointee.image, Int(image.pointee.width) == size.width,
                Int(image.pointee.height) == size.height
            else { throw CodecFailure(message: "a frame has another size") }
            var target = avifRGBImage()
            avifRGBImageSetDefaults(&target, image)
            target.depth = 8
            target.format = AVIF_RGB_FORMAT_RGBA
            target.rowBytes = UInt32(size.width * 4)
            try Self.check(
                pixels.withUnsafeMutableBufferPointer {
                    target.pixels = $0.baseAddress
                    return avifImageYUVToRGB(image, &target)
                })
            try body(pixels)
        }
    }

    private static func check(_ result: avifResult) throws(CodecFailure) {
        guard result == AVIF_RESULT_OK else {
            throw CodecFailure(message: "libavif: \(String(cString: avifResultToString(result)))")
        }
    }
}
