internal import Concurrency
package import Downloader
public import JobQueue
public import Prefetcher

/// A worker: claims jobs, runs each through the loader, completes them in batches, and keeps its lease while it does.
///
/// When `run` returns, nothing that it started runs any more and no job is left half-claimed.
public struct PrefetchWorker: Sendable {
    /// How a worker works.
    public struct Configuration: Sendable {
        /// How the worker is shown in views and logs, and how many slots it has: the jobs that it holds at once.
        public var description: WorkerDescription
        /// The queue from which it claims, `default` by default; ignored by a worker that ends with a batch.
        public var queue = "default"
        /// When the worker ends by itself, `.stopped` by default.
        public var end = End.stopped
        /// How long it claims at most; nil, the default, is without limit.
        public var runtime: Duration?
        /// How long attempts may run after claiming has ended, 20 s by default.
        public var grace = Duration.seconds(20)
        /// Services that run beside the worker's own, none by default.
        public var services: [any WorkerService] = []
        /// The limiter of the loader's downloads, whose findings are exchanged with other workers; none by default.
        package var origins: OriginLimiter?

        /// The defaults for a worker with this description.
        public init(_ description: WorkerDescription) { self.description = description }

        /// Where jobs are claimed from.
        var source: ClaimSource {
            if case .batchFinished(let batch) = end { .batch(batch) } else { .queue(queue) }
        }
    }

    /// When a worker ends by itself.
    public enum End: Sendable, Equatable {
        /// Only on request.
        case stopped
        /// When nothing is left that is due within 30 s.
        case drained
        /// When this batch has no open item. The worker claims the jobs that this batch wants, from any queue.
        case batchFinished(Int64)
    }

    /// What a run did.
    public struct Summary: Sendable, Equatable {
        /// Jobs that this worker completed as succeeded.
        public var succeeded = 0
        /// Jobs that this worker completed as failed.
        public var failed = 0
        /// Failed attempts that will be repeated.
        public var retried = 0
        /// What was left at the end; determined only if the worker was to end by itself.
        public var left = Left.nothing
        /// Whether the worker ended because its time was up.
        public var timeIsUp = false

        /// Creates a summary of a worker that has done nothing.
        public init() {}

        /// What a run left.
        public enum Left: Sendable, Equatable {
            /// Nothing that the worker was to wait for.
            case nothing
            /// Only work that is due later than 30 s from then.
            case later
            /// Work that is due: the worker was stopped, its time was up, or an operator suspended it.
            case work
        }
    }

    let queue: PostgresJobQueue
    let loader: any Loader
    let configuration: Configuration
    let observe: @Sendable (WorkerEvent) -> Void

    /// A worker on `queue` that loads with `loader`, usually an `ImageManager`; `observe` must not block.
    public init(
        queue: PostgresJobQueue, loader: any Loader, configuration: Configuration,
        observe: @escaping @Sendable (WorkerEvent) -> Void = { _ in }
    ) {
        self.queue = queue
        self.loader = loader
        self.configuration = configuration
        self.observe = observe
    }

    /// All services of a worker but the heartbeat, which belongs to one registration.
    private var services: [any WorkerService] {
        var services: [any WorkerService] = [
            MaintenanceService(kind: .urgent, queue: queue, observe: observe),
            MaintenanceService(kind: .routine, queue: queue, observe: observe),
            MaintenanceService(kind: .owner, queue: queue, observe: observe),
        ]
        if let origins = configuration.origins {
            services.append(OriginExchange(origins: origins, queue: queue, observe: observe))
        }
        return services + configuration.services
    }

    /// Works until shutdown is requested or the configured end is reached; cancelling the task requests it urgently.
    ///
    /// A worker that loses its lease registers again. A database that is unavailable is waited for.
    ///
    /// - Throws: an error that waiting does not mend, such as a protocol that the database no longer offers, and any
    ///   error of the first registration.
    public func run(until shutdown: ShutdownRequest) async throws(QueueError) -> Summary {
        let deadline = configuration.runtime.map { ContinuousClock.now + $0 }
        // A registration under way is not interrupted; the claim loop then ends before its first claim.
        let result = await withTaskCancellationHandler { () async -> Result<Summary, QueueError> in
            do throws(QueueError) {
                let registration = try await WorkerRegistration(self, shutdown, deadline: deadline, summary: Summary())
                return await withServices(services) { await work(registration, shutdown, deadline) }
            } catch {
                return .failure(error)
            }
        } onCancel: {
            shutdown.request(.cancel)
        }
        return try result.get()
    }

    /// Works under a registration, and after a lost lease under another.
    private func work(
        _ first: WorkerRegistration, _ shutdown: ShutdownRequest, _ deadline: ContinuousClock.Instant?
    ) async -> Result<Summary, QueueError> {
        var registration: WorkerRegistration? = first
        var summary = Summary()
        while true {
            if let current = registration {
                let ending: WorkerState.Ending
                (summary, ending) = await current.run()
                switch ending {
                case .failed(let error): return .failure(error)
                case .finished: return .success(summary)
                case .leaseLost: observe(.leaseLost)
                }
            }
            summary.timeIsUp = deadline.map { $0 <= .now } ?? false
            if shutdown.urgency > .none || summary.timeIsUp { return .success(summary) }
            await shutdown.wake.wait(atMost: .seconds(1))
            do throws(QueueError) {
                registration = try await WorkerRegistration(self, shutdown, deadline: deadline, summary: summary)
            } catch {
                guard error.isTransient else { return .failure(error) }
                observe(.queueUnavailable(error))
                registration = nil
            }
        }
    }
}
