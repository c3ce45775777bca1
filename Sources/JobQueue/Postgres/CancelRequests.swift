private import CPostgres
private import Concurrency

/// Requests to servers to stop statements (`PQcancel`), sent by threads of their own.
///
/// `PQcancel` connects, and waits without a limit until the server closes that connection, so a server that stands
/// still would keep the thread of a session for ever.
enum CancelRequests {
    /// Requests under way or waiting at most; further ones are dropped. The caller closes its session in any case, and
    /// a server that checks its clients ends the statement then.
    static let limit = 16
    private static let pool = ThreadPool(name: "queue-cancel", threads: 2, blocksBrokenPipes: true)
    private static let pending = Locked(0)

    /// Asks the server of `connection` to stop the statement under way. Does not block.
    static func send(for connection: OpaquePointer) {
        let hasPlace = pending.withLock { pending in
            guard pending < limit else { return false }
            pending += 1
            return true
        }
        guard hasPlace else { return }
        let request = CancelRequest(for: connection)
        pool.submit {
            request.send()
            pending.withLock { $0 -= 1 }
        }
    }
}

/// What libpq needs for one request, independent of the connection; owns the `PGcancel`.
///
/// Protected by the thread pool: one thread uses it.
private struct CancelRequest: ~Copyable, @unchecked Sendable {
    /// Nil when memory is short.
    private let pointer: OpaquePointer?

    init(for connection: OpaquePointer) { pointer = PQgetCancel(connection) }

    deinit { PQfreeCancel(pointer) }

    func send() {
        var reason = [CChar](repeating: 0, count: 256)
        PQcancel(pointer, &reason, Int32(reason.count))
    }
}
