private import CPostgres
private import Concurrency

/// Asks servers to stop statements (`PQcancel`), on separate threads.
///
/// `PQcancel` waits without limit for the server to close its connection, so a hanging server would block a session's
/// thread for ever.
enum CancelRequests {
    /// Pending requests; further ones are dropped. The caller closes its session anyway, and a server that checks its
    /// clients then ends the statement.
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

/// libpq's data for one request, independent of the connection; owns the `PGcancel`.
///
/// Protected by the thread pool: one thread uses it.
private struct CancelRequest: ~Copyable, @unchecked Sendable {
    /// Nil if out of memory.
    private let pointer: OpaquePointer?

    init(for connection: OpaquePointer) { pointer = PQgetCancel(connection) }

    deinit { PQfreeCancel(pointer) }

    func send() {
        var reason = [CChar](repeating: 0, count: 256)
        PQcancel(pointer, &reason, Int32(reason.count))
    }
}
