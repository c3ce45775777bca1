import CMicroHTTPD
import Concurrency
import Synchronization

/// An answer to a GET.
struct HTTPAnswer: Sendable {
    var status: UInt32 = 200
    var type = "text/plain; charset=utf-8"
    var body: [UInt8]
}

/// An HTTP server on a thread of its own, by libmicrohttpd: epoll, keep-alive, limits and parsing are the library's.
final class HTTPEndpoint: Sendable {
    /// Called on the thread of the server; it must not block. Nil is answered 404.
    typealias Handler = @Sendable (_ path: String) -> HTTPAnswer?

    /// At once; further ones wait for a place.
    private static let connections: UInt32 = 64
    /// Of a connection without a byte, in seconds.
    private static let timeout: UInt32 = 10

    /// What the callbacks of the server get.
    private final class Context: Sendable {
        let handler: Handler
        init(_ handler: @escaping Handler) { self.handler = handler }
    }

    /// The library's handle; `deinit` ends its thread.
    private struct Server: ~Copyable {
        let handle: OpaquePointer
        deinit { larder_http_stop(handle) }
    }

    private let context: Context
    private let server: Mutex<Server?>
    let port: UInt16

    /// - Throws: a `CommandError` that names the address when it cannot be listened on.
    init(_ address: ListenAddress, _ handler: @escaping Handler) async throws {
        context = Context(handler)
        let (socket, port) = try await ThreadPool(name: "listen", threads: 1).run { () throws(CommandError) in
            try address.listen()
        }
        self.port = port
        let me = Unmanaged.passUnretained(context).toOpaque()
        guard
            let handle = larder_http_start(
                socket, Self.connections, Self.timeout,
                { context, request, path in
                    guard let context, let path else { return }
                    let handler = Unmanaged<Context>.fromOpaque(context).takeUnretainedValue().handler
                    let missing = HTTPAnswer(status: 404, body: Array("not found\n".utf8))
                    let answer = handler(String(cString: path)) ?? missing
                    larder_http_answer(request, answer.status, answer.type, answer.body, answer.body.count)
                }, me)
        else { throw CommandError.larder(.other, "cannot start the HTTP endpoint on port \(port)") }
        server = Mutex(Server(handle: handle))
    }

    /// Ends the server. Waits for its thread.
    func close() async {
        await ThreadPool(name: "listen", threads: 1).run { [self] in server.withLock { $0 = nil } }
    }
}
