import CMicroHTTPD
import Concurrency
import Synchronization
import Terminal

/// An HTTP server on its own thread, by libmicrohttpd: epoll, keep-alive, limits and parsing are the library's.
package final class HTTPEndpoint: Sendable {
    /// Called on the server's thread; must not block, and may reply later.
    package typealias Handler = @Sendable (HTTPRequest, HTTPReply) -> Void

    /// Headers and arguments passed on with a request; others are dropped.
    package static let headers = [
        "accept", "accept-encoding", "authorization", "content-type", "host", "if-none-match", "if-range", "origin",
        "range",
    ]
    package static let arguments = [
        "after", "batch", "code", "domain", "limit", "minutes", "origin", "paths", "queue", "text",
    ]
    /// Default limit of a request body, in bytes.
    package static let longestBody = 65_536

    /// Maximum connections. Near the limit, a new one closes the oldest connection without a complete request.
    package static let connections = 64
    /// Seconds that a connection may be idle.
    private static let timeout: UInt32 = 10
    /// Seconds until a request's last byte.
    private static let longestRequest: UInt32 = 30

    /// The context of the server's callbacks.
    private final class Context: Sendable {
        let handler: Handler
        let headers: [String]
        let longestBody: @Sendable (HTTPRequest) -> Int
        let open = OpenRequests()

        init(
            _ handler: @escaping Handler, headers: [String], longestBody: @escaping @Sendable (HTTPRequest) -> Int
        ) {
            self.handler = handler
            self.headers = headers
            self.longestBody = longestBody
        }

        func limit(_ request: OpaquePointer) -> Int { longestBody(read(request)) }

        func answer(_ request: OpaquePointer) {
            let reply = HTTPReply(request, of: open)
            if open.isClosing {
                return reply.send(HTTPAnswer(status: 503, body: Array("stopping\n".utf8)))
            }
            guard !larder_http_is_too_long(request) else {
                return reply.send(.failure(413, .usage("the body of the request is too long")))
            }
            handler(read(request), reply)
        }

        private func read(_ request: OpaquePointer) -> HTTPRequest {
            var read = HTTPRequest(path: String(cString: larder_http_path(request)))
            read.method = String(cString: larder_http_method(request))
            for name in headers {
                if let value = larder_http_header(request, name) { read.headers[name] = String(cString: value) }
            }
            for name in HTTPEndpoint.arguments {
                if let value = larder_http_argument(request, name) { read.arguments[name] = String(cString: value) }
            }
            var length = 0
            if let bytes = larder_http_body(request, &length) {
                read.body = Array(UnsafeRawBufferPointer(start: bytes, count: length))
            }
            return read
        }
    }

    /// The library's handle; `deinit` ends its thread.
    private struct Server: ~Copyable {
        let handle: OpaquePointer
        deinit { larder_http_stop(handle) }
    }

    private let context: Context
    private let server: Mutex<Server?>
    package let port: UInt16

    /// - Parameters:
    ///   - header: an additional header of requests, in lower case.
    ///   - longestBody: the maximum body of a request, which has none yet; longer ones are answered 413. Called on the
    ///     server's thread; must not block.
    /// - Throws: a `CommandError` naming the address if it cannot listen there.
    package init(
        _ address: ListenAddress, header: String? = nil,
        longestBody: @escaping @Sendable (HTTPRequest) -> Int = { _ in longestBody }, _ handler: @escaping Handler
    ) async throws {
        context = Context(handler, headers: Self.headers + [header].compactMap(\.self), longestBody: longestBody)
        let (socket, port) = try await ThreadPool(name: "listen", threads: 1).run { () throws(CommandError) in
            try address.listen()
        }
        self.port = port
        let me = Unmanaged.passUnretained(context).toOpaque()
        guard
            let handle = larder_http_start(
                socket, UInt32(Self.connections), Self.timeout, Self.longestRequest,
                { context, request in
                    guard let context, let request else { return 0 }
                    return Unmanaged<Context>.fromOpaque(context).takeUnretainedValue().limit(request)
                },
                { context, request in
                    guard let context, let request else { return }
                    Unmanaged<Context>.fromOpaque(context).takeUnretainedValue().answer(request)
                }, me)
        else { throw CommandError.larder(.other, "cannot start the HTTP endpoint on port \(port)") }
        server = Mutex(Server(handle: handle))
    }

    /// Stops the server after answering the current requests; new ones are answered 503.
    package func close() async {
        await ThreadPool(name: "listen", threads: 1).run { [self] in
            context.open.close()
            server.withLock { $0 = nil }
        }
    }
}
