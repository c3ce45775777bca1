/// Running tasks, which can be cancelled by name.
package final class RunningTasks<Name: Hashable & Sendable>: Sendable {
    private struct Entry {
        let stop = AsyncEvent()
        var wasCancelled = false
    }

    private enum End<Value: Sendable>: Sendable {
        case returned(Value)
        case stopped
    }

    private let entries = Locked<[Name: Entry]>([:])

    package init() {}

    package var isEmpty: Bool { entries.withLock { $0.isEmpty } }

    /// Runs `body` in a child task under a unique name. Cancelling the name cancels the child task, not its caller.
    ///
    /// - Returns: the result of `body`, and whether the task was cancelled by name.
    package func run<Value: Sendable>(
        _ name: Name, _ body: @escaping @Sendable () async -> Value
    ) async -> (value: Value, wasCancelled: Bool) {
        let entry = Entry()
        entries.withLock { $0[name] = entry }
        let value = await withTaskGroup(of: End<Value>.self) { group in
            group.addTask { .returned(await body()) }
            group.addTask {
                await entry.stop.wait()
                return .stopped
            }
            while true {
                let end = await group.next()
                group.cancelAll()
                if case .returned(let value) = end { return value }
            }
        }
        let last = entries.withLock { $0.removeValue(forKey: name) }
        return (value, last?.wasCancelled ?? false)
    }

    /// Cancels the running tasks with these names. Their cancellation handlers may call this too.
    package func cancel(_ names: some Sequence<Name>) {
        for name in names {
            let stop = entries.withLock { entries in
                entries[name]?.wasCancelled = true
                return entries[name]?.stop
            }
            stop?.signal()
        }
    }

    package func cancel(where matches: (Name) -> Bool) { cancel(entries.withLock { Array($0.keys) }.filter(matches)) }

    package func cancelAll() { cancel { _ in true } }
}
