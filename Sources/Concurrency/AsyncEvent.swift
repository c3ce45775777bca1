/// Wakes waiting tasks. A signal without a waiter is kept for the next wait; several kept signals count as one.
package final class AsyncEvent: Sendable {
    private struct State {
        var isSignalled = false
        var waiting: [UInt64] = []
    }

    private let waiters = Waiters<State, Void>(State())

    package init() {}

    /// Wakes all waiting tasks; never blocks.
    package func signal() {
        waiters.resume { state in
            defer { state.waiting = [] }
            state.isSignalled = state.waiting.isEmpty
            return state.waiting.map { ($0, ()) }
        }
    }

    /// Returns at the next signal, at once when one is kept, or when the task is cancelled.
    package func wait() async {
        await waiters.wait(
            cancelled: (),
            enter: { state, ticket in
                if !state.isSignalled { state.waiting.append(ticket) }
                defer { state.isSignalled = false }
                return state.isSignalled ? () : nil
            },
            leave: { state, ticket in state.waiting.removeAll { $0 == ticket } })
    }

    /// Returns at the next signal or after `limit`, whichever is first.
    package func wait(atMost limit: Duration) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.wait() }
            group.addTask { try? await Task.sleep(for: limit) }
            await group.next()
            group.cancelAll()
        }
    }
}
