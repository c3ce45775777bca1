internal import Concurrency
package import Downloader
public import JobQueue
public import Prefetcher

/// A worker: claims jobs, runs each through the loader, completes them, and keeps its lease while it does.
///
/// `run` owns everything it starts: when it returns, nothing of it runs any more and no job is left half-claimed.
public struct PrefetchWorker: Sendable {
    /// How a worker works.
    public struct Configuration: Sendable {
        /// Who it is in views and logs; its `slots` are the jobs it holds at once.
        public var description: WorkerDescription
        /// The queue it works on, `default` by default; not asked by one that ends with a batch.
        public var queue = "default"
        /// When the worker ends by itself, `.stopped` by default.
        public var end = End.stopped
        /// How long it claims at most; nil, the default, is without limit.
        public var runtime: Duration?
        /// How long running jobs may go on after the end of claiming, 20 s by default.
        public var grace = Duration.seconds(20)
        /// The gate of the loader's downloads: what it finds of origins is shared with the other workers.
        package var origins: OriginLimiter?

        /// The defaults for a worker described so.
        public init(_ description: WorkerDescription) { self.description = description }

        /// Where its jobs come from.
        var source: ClaimSource {
            if case .batchFinished(let batch) = end { .batch(batch) } else { .queue(queue) }
        }
    }

    /// When a worker ends by itself.
    public enum End: Sendable, Equatable {
        /// Only when asked to.
        case stopped
        /// When nothing is left that is due within 30 s.
        case drained
        /// When this batch has no open item. Works on what this batch wants and nothing else, in whatever queue it stands.
        case batchFinished(Int64)
    }

    /// What a run did.
    public struct Summary: Sendable, Equatable {
        /// Jobs that ended well here.
        public var succeeded = 0
        /// Jobs that ended in failure here.
        public var failed = 0
        /// Attempts that will be made again.
        public var retried = 0
        /// What was left at the end; looked at only where the worker was to end by itself.
        public var left = Left.nothing
        /// Whether the worker ended because its time was up.
        public var timeIsUp = false

        /// What a run leaves behind.
        public enum Left: Sendable, Equatable {
            /// Nothing this worker was to wait for.
            case nothing
            /// Only work that is due later than 30 s from then.
            case later
            /// Work that is due: the worker was stopped, its time was up, or an operator holds it.
            case work
        }
    }

    let queue: PostgresJobQueue
    let loader: any Loader
    let configuration: Configuration
    let observe: @Sendable (WorkerEvent) -> Void

    /// A worker on `queue` that loads with `loader`, an `ImageManager` as a rule; `observe` must not block.
    public init(
        queue: PostgresJobQueue, loader: any Loader, configuration: Configuration,
        observe: @escaping @Sendable (WorkerEvent) -> Void = { _ in }
    ) {
        self.queue = queue
        self.loader = loader
        self.configuration = configuration
        self.observe = observe
    }

    /// Works until `stop` asks for the end or the configured end is reached.
    ///
    /// A lost lease starts it anew under a fresh identity; a database that is away is waited for.
    ///
    /// - Throws: `QueueError` that waiting does not mend, such as a protocol that the database no longer offers, and
    ///   any error of the first registration.
    public func run(until stop: ShutdownRequest) async throws(QueueError) -> Summary {
        // A cancelled task would find every wait over at once, and claim what it cannot work on.
        let result = await withTaskCancellationHandler { () async -> Result<Summary, QueueError> in
            do throws(QueueError) { return .success(try await work(until: stop)) } catch { return .failure(error) }
        } onCancel: {
            stop.ask(.cancel)
        }
        return try result.get()
    }

    private func work(until stop: ShutdownRequest) async throws(QueueError) -> Summary {
        let deadline = configuration.runtime.map { ContinuousClock.now + $0 }
        var summary = Summary()
        var isFirst = true
        while true {
            let end: (summary: Summary, reason: WorkerRegistration.Reason)
            var hasBegun = false
            do throws(QueueError) {
                let shift = try await WorkerRegistration(worker: self, stop: stop, deadline: deadline, summary: summary)
                isFirst = false
                hasBegun = true
                end = await shift.run()
            } catch {
                guard !isFirst, error.isTransient else { throw error }
                observe(.queueUnavailable(error))
                end = (summary, .leaseLost)
            }
            summary = end.summary
            switch end.reason {
            case .failed(let error): throw error
            case .finished: return summary
            case .leaseLost:
                if hasBegun { observe(.leaseLost) }
                summary.timeIsUp = deadline.map { $0 <= .now } ?? false
                if stop.urgency > .none || summary.timeIsUp { return summary }
                await stop.doorbell.wait(atMost: .seconds(1))
            }
        }
    }
}
