internal import CCurl
internal import Concurrency
private import Glibc

/// Runs the transfers and keeps their connections; the network thread sleeps in it. Wraps `CURLM`.
///
/// Lives as long as the thread that may sleep in it. Only `wake`, `cancel` and `writerChanged` may be called on other
/// threads.
///
/// Protected by that thread; `state` has a lock.
final class TransferLoop: EventPoller, @unchecked Sendable {
    private struct State: Sendable {
        weak var transfers: Transfers?
        var cancelled: [UInt64] = []
        /// Requests whose files have room again, have none, or failed.
        var changedWriters: [UInt64] = []
    }

    private let multi: UnsafeMutableRawPointer
    private let state = Locked(State())

    /// Keeps at most `connections` open, `perHost` of them per host and port (0: no limit).
    init(connections: Int, perHost: Int) {
        guard EasyHandle.isLibraryReady, let multi = curl_multi_init() else {
            Shortage.exit("cannot start libcurl", "curl_multi_init", errno: ENOMEM)
        }
        // Without descriptors libcurl would run, but nothing could end its sleep.
        guard curl_multi_wakeup(multi) == CURLM_OK else {
            Shortage.exit("cannot start libcurl", "socketpair", errno: errno == 0 ? EMFILE : errno)
        }
        self.multi = multi
        larder_curl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, 2 * connections)
        larder_curl_multi_set_long(multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, connections)
        larder_curl_multi_set_long(multi, CURLMOPT_MAX_HOST_CONNECTIONS, perHost)
        larder_curl_multi_set_long(multi, CURLMOPT_PIPELINING, Int(CURLPIPE_MULTIPLEX))
        larder_curl_multi_set_long(multi, CURLMOPT_MAX_CONCURRENT_STREAMS, 32)
    }

    deinit { curl_multi_cleanup(multi) }

    func attach(_ transfers: Transfers) { state.withLock { $0.transfers = transfers } }

    /// Cancels a request, from any thread.
    func cancel(_ ticket: UInt64) {
        state.withLock { $0.cancelled.append(ticket) }
        wake()
    }

    /// The file of a request has room again, has none, or failed; from any thread.
    func writerChanged(_ ticket: UInt64) {
        state.withLock { $0.changedWriters.append(ticket) }
        wake()
    }

    func takeChangedWriters() -> [UInt64] {
        state.withLock { state in
            defer { state.changedWriters.removeAll() }
            return state.changedWriters
        }
    }

    /// Ends the current or next sleep.
    func wake() { curl_multi_wakeup(multi) }

    func poll(mayWait: Bool) {
        let limit = state.withLock({ $0.transfers })?.assumeIsolated { $0.schedule.sleep(from: .now) }
        curl_multi_poll(multi, nil, 0, mayWait ? limit ?? 60_000 : 0, nil)
        let (transfers, cancelled) = state.withLock { state in
            defer { state.cancelled.removeAll() }
            return (state.transfers, state.cancelled)
        }
        transfers?.assumeIsolated { $0.turn(cancelled: cancelled) }
    }

    func add(_ easy: borrowing EasyHandle) -> Bool { curl_multi_add_handle(multi, easy.pointer) == CURLM_OK }

    /// Removes a transfer; its callbacks no longer run.
    func remove(_ easy: borrowing EasyHandle) { curl_multi_remove_handle(multi, easy.pointer) }

    func perform() {
        var running: Int32 = 0
        curl_multi_perform(multi, &running)
    }

    func nextEnded() -> (easy: UnsafeMutableRawPointer, code: CURLcode)? {
        var left: Int32 = 0
        while let message = curl_multi_info_read(multi, &left) {
            if message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle {
                return (easy, message.pointee.data.result)
            }
        }
        return nil
    }
}
