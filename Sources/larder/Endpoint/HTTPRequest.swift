import DiskCache

/// A request to an HTTP endpoint.
struct HTTPRequest: Sendable {
    var method = "GET"
    /// Unescaped, without the query.
    var path: String
    /// Those of `HTTPEndpoint.headers` that the request has, by lower-case name.
    var headers: [String: String] = [:]
    /// Those of `HTTPEndpoint.arguments` that the query has, unescaped.
    var arguments: [String: String] = [:]
    /// At most `HTTPEndpoint.longestBody` bytes.
    var body: [UInt8] = []

    /// Whether the method only reads.
    var isReading: Bool { method == "GET" || method == "HEAD" }
}

/// The answer to a request.
struct HTTPAnswer: Sendable {
    var status: UInt32 = 200
    var type = "text/plain; charset=utf-8"
    /// `Cache-Control`.
    var caching = "no-store"
    /// Beside the type, `Cache-Control` and `X-Content-Type-Options`.
    var headers: [(name: String, value: String)] = []
    var body: [UInt8] = []
    /// A hash of what the body says, for those who compare answers; nil where it is that of the body.
    var content: Int?
    /// Sent instead of the body.
    var file: HTTPFilePart?
    /// Sends the body piece by piece, in place of it; returns at its end.
    var stream: (@Sendable (HTTPStream) async -> Void)?

    static let notFound = HTTPAnswer(status: 404, body: Array("not found\n".utf8))
    static let wrongMethod = HTTPAnswer(
        status: 405, headers: [("Allow", "GET, HEAD")], body: Array("only GET and HEAD\n".utf8))
}

/// Some bytes of an open file.
struct HTTPFilePart: Sendable {
    let file: OpenFile
    let range: Range<Int>
}
