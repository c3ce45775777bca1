internal import Concurrency
package import DiskCache
package import Downloader
package import JobQueue
package import Prefetcher

/// A worker: claims jobs, loads each with the loader, completes them in batches, and extends its lease meanwhile.
///
/// When `run` returns, nothing that it started runs any more and no job is left half-claimed.
package struct PrefetchWorker: Sendable {
    /// The settings of a worker.
    package struct Configuration: Sendable {
        /// The worker's name in views and logs, and its slots: the number of jobs that it holds at once.
        package var description: WorkerDescription
        /// The queue to claim from, `default` by default; ignored by a worker that ends with a batch.
        package var queue = "default"
        /// When the worker ends by itself, `.stopped` by default.
        package var end = End.stopped
        /// Whether a worker that ends as `.drained` leaves the queue to another one that drains it into the same cache on
        /// the same host; false by default. `Summary.other` is then that worker.
        package var yields = false
        /// The time after which claiming ends; nil by default, for no limit.
        package var runtime: Duration?
        /// How long attempts may run after claiming has ended, 20 s by default.
        package var grace = Duration.seconds(20)
        /// How long after the grace time, or after an urgent shutdown, the database may take for the last statements.
        var lastStatements = Duration.seconds(5)
        /// The cache that the worker expires every hour and at its end, with its policy; none by default.
        package var expiry: (store: any ImageStore, policy: ExpiryPolicy)?
        /// The signing key of webhooks and what posts them; none by default, then the worker posts no webhooks.
        package var webhooks: (downloader: ImageDownloader, key: [UInt8])?
        /// Whether reports have the steps of loads and the traces of joined items, for which the worker asks the
        /// database before each completion; false by default.
        package var recordsTraces = false
        /// Further services, none by default.
        package var services: [any WorkerService] = []
        /// The loader's limits, by which its failures block URLs for workers with the same or lower ones. None by
        /// default: every such block applies.
        package var limits: WorkerLimits?
        /// Shows when the claim loop last went round.
        package var claimClock = ClaimClock()
        /// The limiter of the loader's downloads; its origin states are exchanged with other workers. None by default.
        package var origins: OriginLimiter?

        /// The default settings.
        package init(_ description: WorkerDescription) { self.description = description }

        /// Where jobs are claimed from.
        var source: ClaimSource {
            if case .batchFinished(let batch) = end { .batch(batch) } else { .queue(queue) }
        }
    }

    /// When a worker ends by itself.
    package enum End: Sendable, Equatable {
        /// Only on request.
        case stopped
        /// When no job is left that is due within 30 s.
        case drained
        /// When this batch has no open item. The worker claims the jobs of this batch's items, from any queue.
        case batchFinished(Int64)
    }

    /// The counts of a run.
    package struct Summary: Sendable, Equatable {
        /// Jobs that this worker completed as succeeded.
        package var succeeded = 0
        /// Jobs that this worker completed as failed.
        package var failed = 0
        /// Failed attempts that will be repeated.
        package var retried = 0
        /// The work left at the end; determined only for a configured end other than `stopped`, or with a time limit.
        package var left = Left.nothing
        /// The drain to which this one left the queue; nil when it worked itself.
        package var other: OtherDrain?
        /// Whether the worker ended because of its time limit.
        package var timeIsUp = false

        /// A summary with zero counts.
        package init() {}

        /// The work that a run left.
        package enum Left: Sendable, Equatable {
            /// No work that the configured end waits for.
            case nothing
            /// Only work that is due later than 30 s after the end.
            case later
            /// Work that is due: the worker was stopped or reached its time limit, or the work is suspended.
            case work
        }
    }

    let queue: any WorkerQueue
    let loader: any Loader
    let configuration: Configuration
    let maintenance = MaintenanceSignal()
    /// Set when maintenance has probably made jobs ready.
    let foundJobs = Locked(false)
    let observe: @Sendable (WorkerEvent) -> Void

    /// A worker on `queue` that loads with `loader`, usually an `ImageManager`.
    ///
    /// - Parameter observe: called for each event on the worker's tasks; it must not block.
    package init(
        queue: any WorkerQueue, loader: any Loader, configuration: Configuration,
        observe: @escaping @Sendable (WorkerEvent) -> Void = { _ in }
    ) {
        self.queue = queue
        self.loader = loader
        self.configuration = configuration
        self.observe = { event in
            // A call of a service that ends.
            if case .queueUnavailable(let error) = event, error.code == .cancelled { return }
            observe(event)
        }
    }

    /// The services that run as long as the worker. The services of one registration are in `WorkerRegistration.run`.
    private func services(until shutdown: ShutdownRequest, _ wake: AsyncEvent) -> [any WorkerService] {
        var services: [any WorkerService] = []
        if let database = queue.database {
            services += MaintenanceKind.allCases.map { kind in
                MaintenanceService(
                    kind, queue: database, signal: maintenance,
                    foundJobs: { [foundJobs] in
                        foundJobs.withLock { $0 = true }
                        wake.signal()
                    }, observe: observe)
            }
        }
        if let (store, policy) = configuration.expiry {
            services.append(ExpiryService(store: store, policy: policy, shutdown: shutdown, observe: observe))
        }
        if let (downloader, key) = configuration.webhooks, let database = queue.database {
            services.append(
                WebhookService(
                    downloader: downloader, key: key, queue: database, signal: maintenance, observe: observe))
        }
        return services + configuration.services
    }

    /// Works until shutdown is requested or the configured end is reached. Cancelling the task requests an urgent
    /// shutdown.
    ///
    /// A worker that loses its lease registers again. While the database is unavailable, calls are repeated.
    ///
    /// - Throws: an error that is not transient, such as a protocol version that the database does not offer. With a
    ///   configured end other than `stopped` also a transient error of the first registration, which is otherwise
    ///   repeated.
    package func run(until shutdown: ShutdownRequest) async throws(QueueError) -> Summary {
        let deadline = configuration.runtime.map { ContinuousClock.now + $0 }
        let wake = AsyncEvent()
        let limit = StopLimit(
            grace: configuration.grace, lastStatements: configuration.lastStatements, deadline: deadline)
        let limiting = StopLimitService(queue: queue.database, shutdown: shutdown, limit: limit)
        configuration.claimClock.tick()
        defer {
            queue.database?.end(by: nil)
            configuration.claimClock.stop()
        }
        // Cancellation does not interrupt a registration; the claim loop then ends before its first claim.
        let result = await withTaskCancellationHandler { () async -> Result<Summary, QueueError> in
            await withServices([limiting]) { await run(until: shutdown, wake, deadline) }
        } onCancel: {
            shutdown.request(.cancel)
        }
        return try result.get()
    }

    /// Registers the worker, and works with its services.
    private func run(
        until shutdown: ShutdownRequest, _ wake: AsyncEvent, _ deadline: ContinuousClock.Instant?
    ) async -> Result<Summary, QueueError> {
        let registration: WorkerRegistration?
        do throws(QueueError) {
            let first = try await WorkerRegistration(self, shutdown, wake, deadline: deadline, summary: Summary())
            if let other = try await first.otherDrain() {
                var summary = Summary()
                summary.other = other
                return .success(summary)
            }
            registration = first
        } catch {
            guard error.isTransient, configuration.end == .stopped else { return .failure(error) }
            observe(.queueUnavailable(error))
            registration = nil
        }
        return await shutdown.signalling(wake) {
            await withServices(services(until: shutdown, wake)) { await work(registration, shutdown, wake, deadline) }
        }
    }

    /// Works under a registration, and under a new one after a lost lease or when the first failed.
    private func work(
        _ first: WorkerRegistration?, _ shutdown: ShutdownRequest, _ wake: AsyncEvent,
        _ deadline: ContinuousClock.Instant?
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
            await wake.wait(atMost: .seconds(1))
            configuration.claimClock.tick()
            do throws(QueueError) {
                registration = try await WorkerRegistration(self, shutdown, wake, deadline: deadline, summary: summary)
            } catch {
                guard error.isTransient else { return .failure(error) }
                observe(.queueUnavailable(error))
                registration = nil
            }
        }
    }
}

/// When the claim loop of a worker last went round, for probes and watchdogs.
///
/// An idle loop goes round every few seconds; one that does not is held up in a call of the database, or has no thread.
package final class ClaimClock: Sendable {
    private let last = Locked<ContinuousClock.Instant?>(nil)

    /// A clock of a worker that has not begun.
    package init() {}

    /// The start of the last round; nil before the first one and after the end of the worker.
    package var lastRound: ContinuousClock.Instant? { last.withLock { $0 } }

    func tick() { last.withLock { $0 = .now } }

    func stop() { last.withLock { $0 = nil } }
}
