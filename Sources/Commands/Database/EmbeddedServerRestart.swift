import Concurrency
import EmbeddedPostgres
import JobQueue
import Worker

/// Starts the embedded server again when it was killed while a worker uses it.
struct EmbeddedServerRestart: WorkerService {
    private let cluster: EmbeddedCluster
    private let isUnavailable = AsyncEvent()

    /// Nil when a database was given: its server is not Larder's to start.
    init?(_ settings: Settings) {
        guard settings.databaseURL == nil else { return nil }
        cluster = settings.cluster
    }

    /// Reports an event of the worker. Does not block.
    func observe(_ event: WorkerEvent) {
        if case .queueUnavailable = event { isUnavailable.signal() }
    }

    /// Tries once after each failed call of the worker, which repeats its calls. The worker's log has their errors.
    func run() async {
        while !Task.isCancelled {
            await isUnavailable.wait()
            if !Task.isCancelled { _ = try? await cluster.restartIfKilled() }
        }
    }
}
