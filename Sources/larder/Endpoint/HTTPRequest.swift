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
    /// At most as long as the server allows.
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

    /// A JSON object in one line.
    static func json(_ status: UInt32, _ object: JSONObject) -> HTTPAnswer {
        guard let text = try? JSONLine.text(object) else { return failure(500, .larder(.other, "no JSON")) }
        return HTTPAnswer(status: status, type: "application/json", body: Array((text + "\n").utf8))
    }

    /// An error as the object that commands print.
    static func failure(_ status: UInt32, _ error: CommandError) -> HTTPAnswer {
        let inner: JSONObject = ["domain": error.domain, "code": error.code, "message": error.message]
        let text = (try? JSONLine.text(["error": inner] as JSONObject)) ?? "{}"
        return HTTPAnswer(status: status, type: "application/json", body: Array((text + "\n").utf8))
    }
}

/// Some bytes of an open file.
struct HTTPFilePart: Sendable {
    let file: OpenFile
    let range: Range<Int>
}
