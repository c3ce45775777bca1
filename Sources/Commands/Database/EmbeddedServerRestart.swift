import Concurrency
import EmbeddedPostgres
import JobQueue
import Worker

/// Restarts the embedded server if it is killed while a worker uses it.
struct EmbeddedServerRestart: WorkerService {
    private let cluster: EmbeddedCluster
    private let isUnavailable = AsyncEvent()

    /// Nil for a given database, whose server Larder does not manage.
    init?(_ settings: Settings) {
        guard settings.databaseURL == nil else { return nil }
        cluster = settings.cluster
    }

    /// Receives an event of the worker. Does not block.
    func observe(_ event: WorkerEvent) {
        if case .queueUnavailable = event { isUnavailable.signal() }
    }

    /// Tries once after each failed call; the worker repeats its calls and logs their errors.
    func run() async {
        while !Task.isCancelled {
            await isUnavailable.wait()
            if !Task.isCancelled { _ = try? await cluster.restartIfKilled() }
        }
    }
}
