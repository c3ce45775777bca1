/// Work that runs beside a worker's jobs.
///
/// A worker starts its services after its first registration and cancels them when it ends. A new service is one file
/// with such a type, and one entry in `PrefetchWorker.services` or, from outside, `PrefetchWorker.Configuration.services`.
public protocol WorkerService: Sendable {
    /// Runs until the task is cancelled.
    func run() async
}

/// Runs services beside `body` and cancels them when it returns; returns when all have ended.
func withServices<Value: Sendable>(_ services: [any WorkerService], _ body: () async -> Value) async -> Value {
    await withDiscardingTaskGroup { group in
        for service in services { group.addTask { await service.run() } }
        defer { group.cancelAll() }
        return await body()
    }
}
