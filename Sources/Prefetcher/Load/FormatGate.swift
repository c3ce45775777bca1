package import Downloader
internal import ImageModel
package import Transcoder

/// Checks a body's first bytes, so that an error page, a refused format or an image over the limits ends the download.
package struct FormatGate: Sendable {
    private let limits: TranscodeLimits

    package init(_ limits: TranscodeLimits = TranscodeLimits()) { self.limits = limits }

    /// Whether a file with these first bytes has an accepted format.
    func accepts(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let format = ImageFormat.recognise(Array(bytes.prefix(ImageFormat.recognisedBytes)))
        return format.map(limits.formats.contains) ?? false
    }

    /// Refuses other formats with 1001, and a declared size over the limits with 202 (pixels) or 203 (edge).
    @Sendable package func inspect(_ bytes: UnsafeRawBufferPointer) -> PrefixVerdict {
        let first = Array(bytes.prefix(ImageFormat.recognisedBytes))
        let format = ImageFormat.recognise(first)
        if format == nil && first.count < ImageFormat.recognisedBytes { return .unrecognised }
        guard let format else { return .refused(.badImageData, "the body is not an image of an accepted format") }
        do throws(TranscodeError) { try limits.check(format) } catch {
            return .refused(.badImageData, error.message, needs: error.needs)
        }
        switch DeclaredSize(bytes, format: format) {
        case .later: return .undecided
        case .unknown: return .accepted
        case .pixels(let width, let height):
            do throws(TranscodeError) {
                try limits.check(SourceHeader(format: format, width: width, height: height))
                return .accepted
            } catch {
                return .refused(
                    error.code == .edge ? .edgeExceeded : .pixelsExceeded, error.message, needs: error.needs)
            }
        }
    }
}
