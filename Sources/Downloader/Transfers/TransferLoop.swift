internal import CCurl
internal import Concurrency

/// The network thread's sleep, within libcurl's poll.
///
/// It owns the multi handle, which must live as long as the thread that may sleep in it.
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

    func attach(_ transfers: Transfers) { state.withLock { $0.transfers = transfers } }

    /// Cancels a request, from any thread.
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
