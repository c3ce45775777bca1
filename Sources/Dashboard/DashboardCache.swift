import Concurrency
import DiskCache
import Glibc
import HTTPServer
import ImageModel
import Reports

/// The cache's files by key, for pages that show them.
struct DashboardCache: Sendable {
    private let place: CachePlace

    init(_ place: CachePlace) { self.place = place }

    /// A picture must not run a script, as an SVG could.
    private static let policy = "default-src 'none'; style-src 'unsafe-inline'; sandbox"

    /// The file of a key; 404 if there is none.
    ///
    /// The file's name is a hash of the key, so no key leads out of the cache.
    func answer(_ request: HTTPRequest, key: String) async throws -> HTTPAnswer {
        let opened = try await place.disk.run { [store = place.store] in
            try store.peek(named: store.naming.fileName(of: CacheKey(key))).map { file in
                var status = stat()
                fstat(file.descriptor, &status)
                return (file, ImageFormat.recognise(try file.bytes(ImageFormat.recognisedBytes)), status)
            }
        }
        guard let (file, format, status) = opened else { return .notFound }
        let tag = "\"\(String(status.st_mtim.tv_sec, radix: 36))-\(status.st_mtim.tv_nsec)-\(file.size)\""
        var answer = HTTPAnswer(
            type: format?.mediaType ?? "application/octet-stream", caching: "private, max-age=31536000, immutable",
            headers: [("ETag", tag), ("Accept-Ranges", "bytes"), ("Content-Security-Policy", Self.policy)])
        if request.headers["if-none-match"] == tag {
            answer.status = 304
            return answer
        }
        let condition = request.headers["if-range"]
        switch ByteRange(condition == nil || condition == tag ? request.headers["range"] : nil, size: file.size) {
        case .whole: answer.file = HTTPFilePart(file.descriptor, of: file, range: 0..<file.size)
        case .part(let range):
            answer.status = 206
            answer.headers.append(
                ("Content-Range", "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(file.size)"))
            answer.file = HTTPFilePart(file.descriptor, of: file, range: range)
        case .outside:
            answer.status = 416
            answer.headers.append(("Content-Range", "bytes */\(file.size)"))
        }
        return answer
    }
}
