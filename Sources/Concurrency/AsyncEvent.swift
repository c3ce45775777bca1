/// Wakes the waiting tasks: a ring while nobody waits is kept for the next one, several rings are one.
package final class AsyncEvent: Sendable {
    private struct State: Sendable {
        var rung = false
        var waiters: [UInt64: CheckedContinuation<Void, Never>] = [:]
        var tickets: UInt64 = 0
    }

    private let state = Locked(State())

    package init() {}

    /// Signals; never blocks.
    package func signal() {
        let waiters = state.withLock { state in
            state.rung = state.waiters.isEmpty
            defer { state.waiters = [:] }
            return state.waiters
        }
        for waiter in waiters.values { waiter.resume() }
    }

    /// Returns at the next ring, at once when one is kept, or when the task is cancelled.
    package func wait() async {
        let ticket = state.withLock { state in
            state.tickets += 1
            return state.tickets
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let now = state.withLock { state in
                    if state.rung || Task.isCancelled {
                        state.rung = false
                        return true
                    }
                    state.waiters[ticket] = continuation
                    return false
                }
                if now { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: ticket) }?.resume()
        }
    }

    /// Returns at the next ring or after `limit`, whichever is first.
    package func wait(atMost limit: Duration) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.wait() }
            group.addTask { try? await Task.sleep(for: limit) }
            await group.next()
            group.cancelAll()
        }
    }
}
