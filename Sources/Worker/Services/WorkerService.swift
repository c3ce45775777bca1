/// A background activity of a worker.
///
/// Services start after the first attempt to register and are cancelled when the worker ends. To add one, add a file
/// with the type and an entry in `PrefetchWorker.services` or `PrefetchWorker.Configuration.services`.
package protocol WorkerService: Sendable {
    /// Runs until the task is cancelled. The worker waits for it to return.
    func run() async
}

/// Runs services while `body` runs, then cancels them and waits until all have ended.
func withServices<Value: Sendable>(_ services: [any WorkerService], _ body: () async -> Value) async -> Value {
    await withDiscardingTaskGroup { group in
        for service in services { group.addTask { await service.run() } }
        defer { group.cancelAll() }
        return await body()
    }
}
