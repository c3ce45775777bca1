package import Transcoder

/// Judges a body by its first bytes, so that an error page or a refused format ends the download at once.
package struct FormatGate: Sendable {
    private let formats: Set<ImageFormat>

    package init(_ formats: Set<ImageFormat>) { self.formats = formats }

    /// True for an accepted format, false for anything else, nil while more bytes could tell.
    package var judge: @Sendable (UnsafeRawBufferPointer) -> Bool? {
        { [formats] bytes in
            if let format = ImageFormat.recognise(Array(bytes.prefix(ImageFormat.recognisedBytes))) {
                return formats.contains(format)
            }
            return bytes.count >= ImageFormat.recognisedBytes ? false : nil
        }
    }
}
