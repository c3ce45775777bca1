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

    /// Refuses a declared size over the limits: 202 for the pixels, 203 for the edge.
    package var inspect: @Sendable (UnsafeRawBufferPointer) -> PrefixVerdict {
        { [limits] bytes in
            guard let format = ImageFormat.recognise(Array(bytes.prefix(ImageFormat.recognisedBytes))) else {
                return .undecided
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
