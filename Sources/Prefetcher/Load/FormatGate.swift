package import Downloader
internal import ImageModel
package import Transcoder

/// Judges a body by its first bytes, so that an error page, a refused format or a picture too large ends the download.
package struct FormatGate: Sendable {
    private let limits: TranscodeLimits

    /// A gate that lets through what the limits allow.
    package init(_ limits: TranscodeLimits = TranscodeLimits()) { self.limits = limits }

    /// True for an accepted format, false for anything else, nil while more bytes could tell.
    package var judge: @Sendable (UnsafeRawBufferPointer) -> Bool? {
        { [limits] bytes in
            if let format = ImageFormat.recognise(Array(bytes.prefix(ImageFormat.recognisedBytes))) {
                return limits.formats.contains(format)
            }
            return bytes.count >= ImageFormat.recognisedBytes ? false : nil
        }
    }

    /// Refuses other formats with 1001 and a declared size over the limits with 202 (pixels) or 203 (edge).
    package var inspect: @Sendable (UnsafeRawBufferPointer) -> PrefixVerdict {
        { [limits] bytes in
            let first = Array(bytes.prefix(ImageFormat.recognisedBytes))
            let format = ImageFormat.recognise(first)
            if format == nil && first.count < ImageFormat.recognisedBytes { return .unrecognised }
            guard let format, limits.formats.contains(format) else {
                return .refused(.badImageData, "the body is not an image of an accepted format")
            }
            switch DeclaredSize(bytes, format: format) {
            case .later: return .undecided
            case .unknown: return .accepted
            case .pixels(let width, let height):
                do throws(TranscodeError) {
                    try limits.check(SourceHeader(format: format, width: width, height: height))
                    return .accepted
                } catch {
                    return .refused(error.code == .edge ? .edgeExceeded : .pixelsExceeded, error.message)
                }
            }
        }
    }
}
