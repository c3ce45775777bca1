package import Downloader
internal import ImageModel
package import Transcoder

/// Checks a body's first bytes, so that an error page, a refused format or an oversized image ends the download early.
package struct FormatGate: Sendable {
    private let limits: TranscodeLimits
    /// True if the load names its coder; only the coder can then tell whether it reads the bytes.
    private let hasCoder: Bool

    package init(_ limits: TranscodeLimits = TranscodeLimits(), hasCoder: Bool = false) {
        self.limits = limits
        self.hasCoder = hasCoder
    }

    func gate(hasCoder: Bool) -> FormatGate { FormatGate(limits, hasCoder: hasCoder) }

    /// Whether a file with these first bytes has an accepted format.
    @Sendable func accepts(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let first = Array(bytes.prefix(ImageFormat.recognisedBytes))
        if hasCoder || limits.coder(of: first) != nil { return true }
        return ImageFormat.recognise(first).map(limits.formats.contains) ?? false
    }

    /// Refuses other formats with 1001, and declared sizes over the limits with 202 (pixels) or 203 (edge).
    @Sendable package func inspect(_ bytes: UnsafeRawBufferPointer) -> PrefixVerdict {
        let first = Array(bytes.prefix(ImageFormat.recognisedBytes))
        // The size belongs to a picture that the coder makes later.
        if hasCoder || limits.coder(of: first) != nil { return .accepted }
        let format = ImageFormat.recognise(first)
        if format == nil && first.count < ImageFormat.recognisedBytes { return .unrecognised }
        // A coder's signature may follow and would take precedence.
        if first.count < limits.coderBytes { return .undecided }
        guard let format else { return .refused(.badImageData, "the body is not an image") }
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
