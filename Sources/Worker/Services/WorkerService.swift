/// A background activity of a worker.
///
/// A worker starts its services after its first attempt to register and cancels them when it ends. A new service is one
/// file with such a type, and one entry in `PrefetchWorker.services` or in `PrefetchWorker.Configuration.services`.
package protocol WorkerService: Sendable {
    /// Runs until the task is cancelled. The worker ends after this function has returned.
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
