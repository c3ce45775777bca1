private import CLinux
private import Glibc
internal import ImageModel

/// The original, mapped. libvips does not copy buffers, so the file must outlive every image made from it.
struct SourceFile: ~Copyable {
    let bytes: UnsafeRawBufferPointer

    /// Maps the file; the caller keeps the descriptor.
    ///
    /// - Throws: `TranscodeError` 1001 when the file is empty, 205 when there is no memory.
    init(descriptor: Int32) throws(TranscodeError) {
        let length = Int(larder_file_length(descriptor))
        guard length > 0 else { throw TranscodeError(.undecodable, "the file is empty") }
        guard let start = mmap(nil, length, PROT_READ, MAP_PRIVATE, descriptor, 0), start != MAP_FAILED else {
            throw TranscodeError(.memory, "the file of \(length) bytes cannot be mapped")
        }
        bytes = UnsafeRawBufferPointer(start: start, count: length)
    }

    deinit { munmap(UnsafeMutableRawPointer(mutating: bytes.baseAddress), bytes.count) }

    /// Reads and checks the header; no pixel is decoded.
    ///
    /// - Throws: `TranscodeError` 1001, 202, 203, 204.
    func header(_ limits: TranscodeLimits) throws(TranscodeError) -> SourceHeader {
        let prefix = Array(bytes.prefix(ImageFormat.recognisedBytes))
        guard let format = ImageFormat.recognise(prefix) else {
            throw TranscodeError(.undecodable, "the file is no known image")
        }
        try limits.check(format)
        guard (format.declaredEnd?(bytes) ?? 0) <= bytes.count else {
            throw TranscodeError(.undecodable, "the \(format.name) is cut short")
        }
        // Before the codec: libvips allocates a WebP's whole canvas before it gives the size.
        if case .pixels(let width, let height) = DeclaredSize(bytes, format: format) {
            try limits.check(SourceHeader(format: format, width: width, height: height))
        }
        let header: SourceHeader
        do throws(CodecFailure) {
            header = try LibvipsImage(format, bytes).header(format, bytes)
        } catch {
            throw error.as(.undecodable, "the \(format.name) cannot be read")
        }
        try limits.check(header)
        return header
    }
}
