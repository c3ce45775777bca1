internal import CCurl
internal import Concurrency

/// How the downloader's thread sleeps: in libcurl's poll, which also serves the sockets.
///
/// It owns the multi handle, so that this lives as long as the thread that may be asleep in it.
final class TransferLoop: EventPoller {
    private struct State: Sendable {
        weak var transfers: Transfers?
        var cancelled: [UInt64] = []
    }

    let multi: MultiHandle
    private let state = Locked(State())

    init(connections: Int, perHost: Int) {
        guard let multi = MultiHandle(connections: connections, perHost: perHost) else {
            preconditionFailure("libcurl cannot be started: no memory")
        }
        self.multi = multi
    }

    /// Says whose transfers these are.
    func drive(_ transfers: Transfers) { state.withLock { $0.transfers = transfers } }

    /// Ends a transfer soon, from any thread.
    func cancel(_ ticket: UInt64) {
        state.withLock { $0.cancelled.append(ticket) }
        multi.wake()
    }

    func poll() {
        let sleep = state.withLock({ $0.transfers })?.assumeIsolated { $0.sleep }
        multi.poll(milliseconds: sleep ?? 60_000)
        let (transfers, cancelled) = state.withLock { state in
            defer { state.cancelled.removeAll() }
            return (state.transfers, state.cancelled)
        }
        transfers?.assumeIsolated { $0.turn(cancelled: cancelled) }
    }

    func wake() { multi.wake() }
}
