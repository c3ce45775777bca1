private import CVips
internal import ImageModel
internal import Transcoder

/// libvips handles one image of a PNG: an animation's frames are read and written as separate files.
extension LibvipsImage {
    /// Calls `body` with each of the first frames of an animated PNG as displayed, with the file's profile.
    func forEachFrame(
        _ frames: some Sequence<PNGAnimation.Frame>, of animation: PNGAnimation, in bytes: UnsafeRawBufferPointer,
        _ body: (borrowing LibvipsImage) throws(CodecFailure) -> Void
    ) throws(CodecFailure) {
        let profile = self.bytes("icc-profile-data")
        var canvas = AnimationCanvas(animation.canvas)
        for frame in frames {
            let pixels = try Self.pixels(of: animation.still(frame, of: bytes))
            guard pixels.bytes.count == frame.rect.size.area * 4 else { throw CodecFailure.otherPixels }
            withExtendedLifetime(pixels) { canvas.draw(frame, pixels.bytes) }
            let shown = try Self.image(of: canvas)
            if let profile {
                vips_image_set_blob_copy(shown.pointer, "icc-profile-data", profile, profile.count)
            }
            try body(shown)
        }
    }

    private static func pixels(of file: [UInt8]) throws(CodecFailure) -> EncodedFile {
        var result: Result<EncodedFile, CodecFailure> = .failure(.otherPixels)
        file.withUnsafeBytes { bytes in
            result = Result { () throws(CodecFailure) in
                try LibvipsImage(.png, bytes).asByteRGB().rawRGBA()
            }
        }
        return try result.get()
    }

    private static func image(of canvas: AnimationCanvas) throws(CodecFailure) -> LibvipsImage {
        try LibvipsImage { out in
            canvas.pixels.withUnsafeBytes {
                larder_from_rgba($0.baseAddress, Int32(canvas.size.width), Int32(canvas.size.height), out)
            }
        }
    }

    /// Frames of one size as an animated PNG. Each frame after the first has only the rectangle that changed.
    static func animatedPNG(
        _ frames: [SharedImage], _ header: SourceHeader, settings: EncoderOptions?, keeping kept: KeptMetadata
    ) throws(CodecFailure) -> EncodedFile {
        var writer = PNGAnimationWriter(frames: frames.count, loopCount: header.loopCount)
        var before: EncodedFile?
        for (number, frame) in frames.enumerated() {
            let pixels = try frame.image.rawRGBA(), size = frame.image.size
            var rect = PixelRect(x: 0, y: 0, width: size.width, height: size.height)
            if let before { rect = PNGAnimationWriter.difference(before.bytes, pixels.bytes, size) }
            let image = before == nil ? try frame.image.copy() : try frame.image.drawn(.crop(rect))
            let file = try image.encoded(
                .png, quality: nil, settings: settings, keeping: number == 0 ? kept : KeptMetadata())
            let milliseconds = number < header.frameMilliseconds.count ? header.frameMilliseconds[number] : 100
            withExtendedLifetime(file) { writer.add(file.bytes, rect, milliseconds: milliseconds) }
            before = pixels
        }
        return try EncodedFile(copying: writer.file)
    }

    /// Calls `body` with each of the first frames of an animated AVIF, with this image's profile.
    ///
    /// - Parameter hasAlpha: whether the frames have alpha.
    func forEachFrame(
        _ count: Int, of sequence: borrowing AVIFSequence, hasAlpha: Bool,
        _ body: (borrowing LibvipsImage) throws(CodecFailure) -> Void
    ) throws(CodecFailure) {
        let profile = bytes("icc-profile-data"), size = sequence.size
        try sequence.forEachFrame(count) { (pixels) throws(CodecFailure) in
            let frame = try LibvipsImage { out in
                pixels.withUnsafeBytes {
                    larder_from_rgba($0.baseAddress, Int32(size.width), Int32(size.height), out)
                }
            }
            let shown = hasAlpha ? try frame.copy() : try frame.opaque()
            if let profile {
                vips_image_set_blob_copy(shown.pointer, "icc-profile-data", profile, profile.count)
            }
            try body(shown)
        }
    }
}
