internal import Downloader
private import Glibc
internal import ImageModel

/// A duplicate of an open file's descriptor. The original number may be reused while a copy hangs.
final class CopyTarget: Sendable {
    let descriptor: Int32

    init(duplicating file: Int32) { descriptor = fcntl(file, F_DUPFD_CLOEXEC, 0) }

    deinit { close(descriptor) }
}

/// Copies a local file into the file of a load, with the limits and checks of a download. Blocks.
struct FileCopy: Sendable {
    private static let pieceBytes = 256 << 10

    let url: String
    /// In bytes.
    let limit: Int64
    let inspects: @Sendable (UnsafeRawBufferPointer) -> PrefixVerdict
    let target: CopyTarget

    /// Copies a regular file.
    ///
    /// - Throws: `FetchError` with the codes of files, `bodyTooLarge`, `badImageData`, or what `inspects` refuses.
    func run(_ entry: borrowing DirectoryEntry) throws(FetchError) -> FetchResponse {
        guard let status = entry.status else { throw Self.failure(errno, url) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw FetchError(.fileNotRegular, "\(url): is not a regular file")
        }
        guard Int64(status.st_size) <= limit else { throw tooLarge(Int64(status.st_size)) }
        let source = entry.open()
        guard source >= 0 else { throw Self.failure(errno, url) }
        defer { close(source) }
        var digest = SHA256Digest()
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.pieceBytes, alignment: 16)
        defer { buffer.deallocate() }
        var bytes: Int64 = 0
        while true {
            let count = read(source, buffer.baseAddress, buffer.count)
            if count < 0 && errno == EINTR { continue }
            guard count >= 0 else { throw Self.failure(errno, url) }
            if count == 0 { break }
            let piece = UnsafeRawBufferPointer(rebasing: buffer[..<count])
            if bytes == 0 { try inspect(piece) }
            bytes += Int64(count)
            guard bytes <= limit else { throw tooLarge(bytes) }
            digest.update(piece)
            try write(piece)
        }
        guard let end = entry.status, bytes == Int64(end.st_size), end.st_size == status.st_size,
            end.st_mtim.tv_sec == status.st_mtim.tv_sec, end.st_mtim.tv_nsec == status.st_mtim.tv_nsec
        else { throw FetchError(.connectionLost, "\(url): the file changed while it was read") }
        guard bytes > 0 else { throw FetchError(.badImageData, "\(url): the file is empty") }
        return FetchResponse(bytes: Int(bytes), sha256: digest.finish())
    }

    private func inspect(_ piece: UnsafeRawBufferPointer) throws(FetchError) {
        switch inspects(UnsafeRawBufferPointer(rebasing: piece.prefix(64 << 10))) {
        case .accepted, .undecided: break
        case .unrecognised: throw FetchError(.badImageData, "\(url): the body is not an image")
        case .refused(let code, let message, let needs): throw FetchError(code, "\(url): \(message)").needing(needs)
        }
    }

    private func write(_ piece: UnsafeRawBufferPointer) throws(FetchError) {
        var rest = piece
        while !rest.isEmpty {
            let written = Glibc.write(target.descriptor, rest.baseAddress, rest.count)
            if written < 0 && errno == EINTR { continue }
            guard written >= 0 else {
                let number = errno
                throw FetchError(
                    MachineShortage.reason(number) == nil ? .writeFailed : .localFault,
                    "\(url): the copy cannot be written: \(String(cString: strerror(number)))")
            }
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(written))
        }
    }

    private func tooLarge(_ bytes: Int64) -> FetchError {
        FetchError(.bodyTooLarge, "\(url): the file of \(bytes) bytes exceeds the limit of \(limit) bytes")
            .needing([.body(bytes)])
    }

    static func failure(_ number: Int32, _ url: String) -> FetchError {
        let code: FetchError.Code =
            switch number {
            case ENOENT, ENOTDIR, ENAMETOOLONG: .fileNotFound
            case EACCES, EPERM: .fileNotPermitted
            default: MachineShortage.reason(number) == nil ? .fileReadFailed : .localFault
            }
        return FetchError(code, "\(url): \(String(cString: strerror(number)))")
    }
}
