internal import Concurrency
public import Downloader
internal import FoundationEssentials
private import Glibc
internal import ImageModel

/// Originals from `file:` URLs below given directories.
///
/// SDWebImage 5.21.5 reads any file URL.
public struct FileSource: ImageSource {
    private let roots: [String]
    private let limit: Int
    private let disk: ThreadPool

    /// A source over directories.
    ///
    /// - Parameters:
    ///   - roots: directories; links that lead out of them are refused.
    ///   - limit: the largest file in bytes, 32 MiB by default.
    public init(roots: [String], limit: Int = 32 << 20) {
        self.roots = roots.compactMap(Self.resolved)
        self.limit = limit
        disk = ThreadPool(name: "files", threads: 2)
    }

    /// Whether the scheme is `file`.
    public func canLoad(_ url: String) -> Bool { url.utf8.starts(with: "file:".utf8) }

    /// Copies the file at the URL.
    public func load(
        _ request: FetchRequest, options: LoadOptions, into file: Int32
    ) async throws(LoadError) -> FetchResponse {
        let inspects = request.inspects
        return try await disk.run { [roots, limit, url = request.url] () throws(LoadError) in
            let path = try Self.path(of: url, below: roots)
            let source = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
            guard source >= 0 else { throw Self.failure(.fileNotFound, url, String(cString: strerror(errno))) }
            defer { close(source) }
            var status = stat()
            guard fstat(source, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
                throw Self.failure(.fileNotRegular, url, "is not a regular file")
            }
            guard status.st_size <= limit else { throw Self.tooLarge(url, Int(status.st_size), limit) }
            return try Self.copy(source, url, to: file, limit, inspects)
        }
    }

    private static func copy(
        _ source: Int32, _ url: String, to file: Int32, _ limit: Int,
        _ inspects: (UnsafeRawBufferPointer) -> PrefixVerdict
    ) throws(LoadError) -> FetchResponse {
        var digest = SHA256Digest()
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 16)
        defer { buffer.deallocate() }
        var bytes = 0
        while true {
            let count = read(source, buffer.baseAddress, buffer.count)
            guard count >= 0 else { throw failure(.fileReadFailed, url, String(cString: strerror(errno))) }
            if count == 0 { break }
            let piece = UnsafeRawBufferPointer(rebasing: buffer[..<count])
            switch bytes == 0 ? inspects(UnsafeRawBufferPointer(rebasing: piece.prefix(4096))) : .accepted
            {
            case .accepted, .undecided: break
            case .unrecognised: throw failure(.badImageData, url, "is not an image of an accepted format")
            case .refused(let code, let message, let needs):
                throw LoadError(FetchError(code, "\(url): \(message)").needing(needs))
            }
            bytes += count
            guard bytes <= limit else { throw tooLarge(url, bytes, limit) }
            digest.update(piece)
            var rest = piece
            while !rest.isEmpty {
                let written = write(file, rest.baseAddress, rest.count)
                guard written > 0 else {
                    throw failure(.storeFailed, url, String(cString: strerror(errno)))
                }
                rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(written))
            }
        }
        guard bytes > 0 else { throw failure(.badImageData, url, "the file is empty") }
        return FetchResponse(bytes: bytes, sha256: digest.finish())
    }

    /// The file's real path below one of `roots`.
    private static func path(of url: String, below roots: [String]) throws(LoadError) -> String {
        guard let parsed = URL(string: url), parsed.host() ?? "" == "" || parsed.host() == "localhost"
        else {
            throw failure(.notFileURL, url, "is not a URL of a local file")
        }
        guard let path = resolved(parsed.path(percentEncoded: false)) else {
            throw failure(.fileNotFound, url, "no such file")
        }
        guard
            roots.contains(where: { path.utf8.starts(with: ($0.hasSuffix("/") ? $0 : $0 + "/").utf8) })
        else {
            throw failure(.fileRefused, url, "is outside the directories open to loads")
        }
        return path
    }

    /// The corresponding C function is `realpath`.
    private static func resolved(_ path: String) -> String? {
        guard let real = realpath(path, nil) else { return nil }
        defer { free(real) }
        return String(cString: real)
    }

    private static func tooLarge(_ url: String, _ bytes: Int, _ limit: Int) -> LoadError {
        failure(.bodyTooLarge, url, "a body of \(bytes) bytes or more exceeds the limit of \(limit)")
    }

    private static func failure(_ code: FailureCode, _ url: String, _ message: String) -> LoadError {
        LoadError(.fetch, code, "\(url): \(message)")
    }
}
