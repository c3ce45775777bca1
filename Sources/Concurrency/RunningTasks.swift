/// Tasks that run now, each under a name by which it can be cancelled.
package final class RunningTasks<Name: Hashable & Sendable>: Sendable {
    /// A task, and whether it was cancelled by name.
    private struct Entry: @unchecked Sendable {  // protected by: `entries`; the task lives while its entry does
        let task: UnsafeCurrentTask
        var wasCancelled = false
    }

    private let entries = Locked<[Name: Entry]>([:])

    /// No task yet.
    package init() {}

    /// Whether none runs.
    package var isEmpty: Bool { entries.withLock { $0.isEmpty } }

    /// Runs `body` under a name that no other task has, in the calling task: cancelling the name cancels that task.
    ///
    /// - Returns: what `body` returned, and whether it was cancelled by name.
    package func run<Value>(_ name: Name, _ body: () async -> Value) async -> (value: Value, wasCancelled: Bool) {
        withUnsafeCurrentTask { task in
            guard let task else { return }
            let entry = Entry(task: task)
            entries.withLock { $0[name] = entry }
        }
        let value = await body()
        // The entry goes before the task can end: nobody cancels a task that is no more.
        let entry = entries.withLock { $0.removeValue(forKey: name) }
        return (value, entry?.wasCancelled ?? false)
    }

    /// Cancels those of `names` that run.
    package func cancel(_ names: some Sequence<Name>) {
        for name in names {
            // With the lock held, so that the task is still there. What a cancellation calls knows nothing of this lock.
            entries.withLock { entries in
                entries[name]?.wasCancelled = true
                entries[name]?.task.cancel()
            }
        }
    }

    /// Cancels those whose name `matches`.
    package func cancel(where matches: (Name) -> Bool) { cancel(entries.withLock { Array($0.keys) }.filter(matches)) }

    /// Cancels all that run.
    package func cancelAll() { cancel { _ in true } }
}
