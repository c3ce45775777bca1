internal import Executors
internal import JobQueue

/// The jobs a shift holds, each by the task that runs it, so that it can be cancelled by name.
final class RunningJobs: Sendable {
    /// A job's task, and whether it was cancelled by name.
    private struct Entry: @unchecked Sendable {  // protected by: `entries`; the task lives while its entry does
        let task: UnsafeCurrentTask
        var wasCancelled = false
    }

    private let entries = Locked<[Claim: Entry]>([:])

    /// Runs `body` for a job in the calling task, which runs nothing else: cancelling the job cancels that task.
    ///
    /// - Returns: what `body` returned, and whether the job was cancelled by name.
    func run<Value>(_ claim: Claim, _ body: () async -> Value) async -> (value: Value, wasCancelled: Bool) {
        withUnsafeCurrentTask { task in
            guard let task else { return }
            let entry = Entry(task: task)
            entries.withLock { $0[claim] = entry }
        }
        let value = await body()
        // The entry goes before the task can end: nobody cancels a task that is no more.
        let entry = entries.withLock { $0.removeValue(forKey: claim) }
        return (value, entry?.wasCancelled ?? false)
    }

    /// Cancels those of `claims` that run here.
    func cancel(_ claims: [Claim]) {
        for claim in claims {
            // With the lock held, so that the task is still there. What a cancellation calls knows nothing of this lock.
            entries.withLock { entries in
                entries[claim]?.wasCancelled = true
                entries[claim]?.task.cancel()
            }
        }
    }
}
