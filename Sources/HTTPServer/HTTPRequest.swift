package import Terminal

package struct HTTPRequest: Sendable {
    package var method: String
    /// Unescaped, without the query.
    package var path: String
    /// The request's headers in `HTTPEndpoint.headers`, by lower-case name.
    package var headers: [String: String]
    /// The query's arguments in `HTTPEndpoint.arguments`, unescaped.
    package var arguments: [String: String]
    /// Limited by the server.
    package var body: [UInt8]

    package init(
        method: String = "GET", path: String, headers: [String: String] = [:], arguments: [String: String] = [:],
        body: [UInt8] = []
    ) {
        self.method = method
        self.path = path
        self.headers = headers
        self.arguments = arguments
        self.body = body
    }

    package var isReading: Bool { method == "GET" || method == "HEAD" }
}

package struct HTTPAnswer: Sendable {
    package var status: UInt32 = 200
    package var type = "text/plain; charset=utf-8"
    package var caching = "no-store"
    /// Headers except the type, `Cache-Control` and `X-Content-Type-Options`.
    package var headers: [(name: String, value: String)] = []
    package var body: [UInt8] = []
    /// A hash for comparing answers; nil uses the body's hash.
    package var content: Int?
    /// Sent instead of the body.
    package var file: HTTPFilePart?
    /// Sends the body piece by piece, instead of `body`; returns at its end.
    package var stream: (@Sendable (HTTPStream) async -> Void)?

    package init(
        status: UInt32 = 200, type: String = "text/plain; charset=utf-8", caching: String = "no-store",
        headers: [(name: String, value: String)] = [], body: [UInt8] = []
    ) {
        self.status = status
        self.type = type
        self.caching = caching
        self.headers = headers
        self.body = body
    }

    package static let notFound = HTTPAnswer(status: 404, body: Array("not found\n".utf8))
    package static let wrongMethod = HTTPAnswer(
        status: 405, headers: [("Allow", "GET, HEAD")], body: Array("only GET and HEAD\n".utf8))

    /// A JSON object in one line.
    package static func json(_ status: UInt32, _ object: JSONObject) -> HTTPAnswer {
        guard let text = try? JSONLine.text(object) else { return failure(500, .larder(.other, "no JSON")) }
        return HTTPAnswer(status: status, type: "application/json", body: Array((text + "\n").utf8))
    }

    /// An error as printed by commands.
    package static func failure(_ status: UInt32, _ error: CommandError) -> HTTPAnswer {
        let inner: JSONObject = ["domain": error.domain, "code": error.code, "message": error.message]
        let text = (try? JSONLine.text(["error": inner] as JSONObject)) ?? "{}"
        return HTTPAnswer(status: status, type: "application/json", body: Array((text + "\n").utf8))
    }
}

/// A part of an open file.
package struct HTTPFilePart: Sendable {
    package let descriptor: Int32
    package let range: Range<Int>
    /// Keeps the descriptor open.
    private let owner: any Sendable

    /// - Parameter owner: keeps the descriptor open.
    package init(_ descriptor: Int32, of owner: any Sendable, range: Range<Int>) {
        (self.descriptor, self.owner, self.range) = (descriptor, owner, range)
    }
}
