internal import Concurrency
package import DiskCache
package import Downloader
package import JobQueue
package import Prefetcher

/// A worker: claims jobs, loads their images, completes them in batches and renews its lease.
///
/// When `run` returns, no task is left running and no job is left claimed without a result or release.
package struct PrefetchWorker: Sendable {
    package struct Configuration: Sendable {
        /// Name in views and logs, and slots: the number of jobs that run at once.
        package var description: WorkerDescription
        /// The queue to claim from, `default` by default; ignored if the worker ends with a batch.
        package var queue = "default"
        /// When the worker ends by itself, `.stopped` by default.
        package var end = End.stopped
        /// Whether a `.drained` worker yields to another one that already drains the queue into the same cache on the
        /// same host; false by default. `Summary.other` then names that worker.
        package var yields = false
        /// When claiming ends, measured from the start; nil, the default, means never.
        package var runtime: Duration?
        /// Time for running attempts after claiming has ended, 20 s by default.
        package var grace = Duration.seconds(20)
        /// Time for the last statements after the grace time or an urgent shutdown.
        var lastStatements = Duration.seconds(5)
        /// The cache that the worker expires every hour and when it ends, with the policy; none by default.
        package var expiry: (store: any ImageStore, policy: ExpiryPolicy)?
        /// Sender and signing key of webhooks. Without them, the default, the worker posts none.
        package var webhooks: (downloader: ImageDownloader, key: [UInt8])?
        /// Whether reports contain load steps and the traces of joined items; false by default. Costs one query per
        /// completion.
        package var recordsTraces = false
        /// Further services, none by default.
        package var services: [any WorkerService] = []
        /// The loader's limits. A URL that exceeded a limit is blocked only for workers with the same or a lower limit;
        /// with nil, the default, every block applies.
        package var limits: WorkerLimits?
        /// Records the start of each claim loop iteration.
        package var claimClock = ClaimClock()
        /// Limits requests per origin; its states are exchanged with other workers. None by default.
        package var origins: OriginLimiter?

        /// The default settings.
        package init(_ description: WorkerDescription) { self.description = description }

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

    package struct Summary: Sendable, Equatable {
        /// Jobs that this worker completed as succeeded.
        package var succeeded = 0
        /// Jobs that this worker completed as failed.
        package var failed = 0
        /// Failed attempts that will be retried.
        package var retried = 0
        /// Work left at the end. Determined only with a time limit or an end other than `stopped`.
        package var left = Left.nothing
        /// The other drain that was already running, if this worker yielded to it.
        package var other: OtherDrain?
        /// True if the time limit ended the run.
        package var timeIsUp = false

        package init() {}

        /// The work that a run left.
        package enum Left: Sendable, Equatable {
            /// None that the configured end waits for.
            case nothing
            /// Only work that is due later than 30 s after the end.
            case later
            /// Work that is due: the worker was stopped, its time was up, or the work is suspended.
            case work
        }
    }

    let queue: any WorkerQueue
    let loader: any Loader
    let configuration: Configuration
    let maintenance = MaintenanceSignal()
    /// True if maintenance has probably made jobs ready.
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
            // The call belonged to a service that is ending.
            if case .queueUnavailable(let error) = event, error.code == .cancelled { return }
            observe(event)
        }
    }

    /// Services that run as long as the worker. `WorkerRegistration.run` starts the others.
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
    /// - Throws: an error that is not transient, such as an unsupported protocol version. With an end other than
    ///   `stopped`, also a transient error of the first registration.
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

    /// Works under a registration. Registers again after a lost lease or a failed first registration.
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

/// Start of the last claim loop iteration, for probes and watchdogs.
///
/// An idle loop iterates every few seconds. If it does not, a database call hangs or no thread is free.
package final class ClaimClock: Sendable {
    private let last = Locked<ContinuousClock.Instant?>(nil)

    /// The clock of a worker that has not started.
    package init() {}

    /// The start of the last iteration; nil before the first one and after the worker's end.
    package var lastRound: ContinuousClock.Instant? { last.withLock { $0 } }

    func tick() { last.withLock { $0 = .now } }

    func stop() { last.withLock { $0 = nil } }
}
