/// Wakes waiting tasks. A signal without a waiter is kept for the next wait; kept signals do not accumulate.
package final class AsyncEvent: Sendable {
    private struct State {
        var isSignalled = false
        var waiting: [UInt64] = []
    }

    private let waiters = Waiters<State, Bool>(State())

    package init() {}

    /// Wakes all waiting tasks; never blocks.
    package func signal() {
        waiters.resume { state in
            defer { state.waiting = [] }
            state.isSignalled = state.waiting.isEmpty
            return state.waiting.map { ($0, true) }
        }
    }

    /// Returns at the next signal, immediately for a kept one, or when the task is cancelled.
    package func wait() async { _ = await isSignalled() }

    /// Waits for the next signal; false if the task is cancelled.
    private func isSignalled() async -> Bool {
        await waiters.wait(
            cancelled: false,
            enter: { state, ticket in
                if !state.isSignalled { state.waiting.append(ticket) }
                defer { state.isSignalled = false }
                return state.isSignalled ? true : nil
            },
            leave: { state, ticket in state.waiting.removeAll { $0 == ticket } })
    }

    /// Returns at the next signal or after `limit`, whichever is first. True for a signal; a signal at the limit is not
    /// lost.
    @discardableResult
    package func wait(atMost limit: Duration) async -> Bool {
        await withTaskGroup(of: Bool.self) { group in
            group.addTask { await self.isSignalled() }
            group.addTask {
                try? await Task.sleep(for: limit)
                return false
            }
            let first = await group.next() ?? false
            group.cancelAll()
            return await group.reduce(first) { $0 || $1 }
        }
    }
}
