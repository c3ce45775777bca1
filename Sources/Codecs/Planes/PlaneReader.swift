internal import ImageModel

/// A file that a library can decode to planes, its header read.
protocol PlaneReader: ~Copyable {
    var hasAlpha: Bool { get }

    /// Decodes the file as stored.
    ///
    /// - Parameters:
    ///   - size: the size in the header.
    ///   - shrink: libjpeg's shrink factor, 1 for other formats.
    /// - Throws: `CodecFailure` when the file is truncated or broken, or there is no memory.
    consuming func decode(_ size: PixelSize, shrink: Int) throws(CodecFailure) -> PlanarImage
}
