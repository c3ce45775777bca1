/// The tasks that run now, each under a name by which it can be cancelled.
package final class RunningTasks<Name: Hashable & Sendable>: Sendable {
    /// Protected by the lock of `entries`; the task lives longer than its entry.
    private struct Entry: @unchecked Sendable {
        let task: UnsafeCurrentTask
        var wasCancelled = false
    }

    private let entries = Locked<[Name: Entry]>([:])

    package init() {}

    package var isEmpty: Bool { entries.withLock { $0.isEmpty } }

    /// Runs `body` in a child task under a name that no other running task has. Cancelling the name cancels the child
    /// task and not its caller.
    ///
    /// - Returns: what `body` returned, and whether the task was cancelled by its name.
    package func run<Value: Sendable>(
        _ name: Name, _ body: @escaping @Sendable () async -> Value
    ) async -> (value: Value, wasCancelled: Bool) {
        async let ended = runInThisTask(name, body)
        return await ended
    }

    private func runInThisTask<Value: Sendable>(
        _ name: Name, _ body: @Sendable () async -> Value
    ) async -> (value: Value, wasCancelled: Bool) {
        withUnsafeCurrentTask { task in
            guard let task else { return }
            let entry = Entry(task: task)
            entries.withLock { $0[name] = entry }
        }
        let value = await body()
        let entry = entries.withLock { $0.removeValue(forKey: name) }
        return (value, entry?.wasCancelled ?? false)
    }

    /// Cancels those of `names` that run.
    package func cancel(_ names: some Sequence<Name>) {
        for name in names {
            // With the lock held, so that the task still exists; no cancellation handler takes this lock.
            entries.withLock { entries in
                entries[name]?.wasCancelled = true
                entries[name]?.task.cancel()
            }
        }
    }

    package func cancel(where matches: (Name) -> Bool) { cancel(entries.withLock { Array($0.keys) }.filter(matches)) }

    package func cancelAll() { cancel { _ in true } }
}
