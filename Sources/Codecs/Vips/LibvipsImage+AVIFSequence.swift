private import CVips
internal import ImageModel

extension LibvipsImage {
    /// Calls `body` with each of the first frames of an animated AVIF, with this image's profile.
    ///
    /// - Parameter hasAlpha: whether the frames have an alpha channel.
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
