internal import ImageModel
internal import JobQueue
internal import Prefetcher
internal import Transcoder

/// One attempt at one job: the load, and what is told of it.
struct Attempt: Sendable {
    let job: Job
    let loader: any Loader
    let pipelines: PipelineCache
    let lease: Lease
    let claimedAt: ContinuousClock.Instant

    /// What came of an attempt.
    struct End: Sendable {
        let outcome: Outcome
        private let job: Job
        /// Nil for a job that was cancelled by name: of that nothing is told.
        private let load: LoadReport?
        private let failure: FailureReason?
        /// Not an end: the job comes back after so long, as its origin is to be left alone.
        let delay: Duration?

        fileprivate init(
            _ job: Job, _ outcome: Outcome, _ load: LoadReport?, _ failure: FailureReason?, delay: Duration? = nil
        ) {
            self.job = job
            self.outcome = outcome
            self.load = load
            self.failure = failure
            self.delay = delay
        }

        /// A job whose origin is to be left alone: nothing is told of it but that it waits.
        fileprivate static func snoozed(_ job: Job, for delay: Duration) -> End {
            End(job, Outcome(job.held, .cancelled), nil, nil, delay: delay)
        }

        /// A job whose load was cut off although its worker goes on: it comes back at once.
        static func givenBack(_ job: Job) -> End { snoozed(job, for: .zero) }

        /// The end of a job that was cancelled while it ran.
        static func cancelled(_ job: Job) -> End { End(job, Outcome(job.held, .cancelled), nil, nil) }

        /// What is told of it once it is committed.
        func report(_ decision: CompletionResult.Decision) -> AttemptReport? {
            load.map { AttemptReport(job: job, load: $0, failure: failure, decision: decision) }
        }
    }

    /// Runs the load; nil when it was cut off, by cancellation or a lost lease: then nothing is to be told.
    ///
    /// - Throws: `QueueError` when the database could not be asked for the pipeline.
    func run() async throws(QueueError) -> End? {
        let pipeline = try await pipelines.pipeline(job.pipeline)
        let waited = ContinuousClock.now - claimedAt
        switch pipeline {
        case .failure(let reason):
            return end(.failed(reason), LoadReport(), reason, waited)
        case .success(let pipeline):
            do throws(LoadError) {
                var request = LoadRequest(
                    url: job.url, variants: pipeline.variants, options: LoadOptions(rawValue: job.options),
                    context: try context())
                request.blocklist = ClaimedBlocklist(isBlocked: job.isBlocked)
                request.mayPublish = { [lease] in lease.holds }
                let report = try await loader.load(request)
                return end(report.failure.map { .failed($0) } ?? .succeeded, report, report.failure, waited)
            } catch {
                guard !error.isCancellation else { return nil }
                if let delay = error.heldFor { return .snoozed(job, for: delay) }
                var report = error.report
                // The rules of retry go by the status: without it every 500 would be final.
                report.httpStatus = error.httpStatus
                return end(.failed(error.failure, retryAfter: error.retryAfter), report, error.failure, waited)
            }
        }
    }

    /// The job's context; what stands in it was checked by whoever enqueued with Larder, and by nobody for SQL.
    private func context() throws(LoadError) -> LoadContext {
        guard let json = job.context else { return LoadContext() }
        do throws(VariantError) {
            return try LoadContext(json: json.utf8)
        } catch {
            throw LoadError(
                stage: .lookUp, domain: "LarderErrorDomain", code: 105, message: "the job's context: \(error)")
        }
    }

    private func end(
        _ result: Outcome.Result, _ report: LoadReport, _ failure: FailureReason?, _ waited: Duration
    ) -> End {
        var outcome = Outcome(job.held, result)
        outcome.httpStatus = report.httpStatus
        outcome.bytesIn = report.bytesIn
        outcome.bytesOut = report.bytesOut
        outcome.downloads = report.downloads
        outcome.variants = report.made
        outcome.waiting = waited
        outcome.fetching = report.timing.fetch
        outcome.transcoding = report.timing.transcode
        outcome.storing = report.timing.store
        outcome.stored = report.stored
        return End(job, outcome, report, failure)
    }
}

/// The database's blocklist as a claim told it. Who goes on it or leaves it is decided when the job is completed, by the
/// rows of `retry_rule` and in the same transaction.
private struct ClaimedBlocklist: Blocklist {
    let isBlocked: Bool

    func contains(_ url: String) -> Bool { isBlocked }
    func insert(_ url: String) {}
    func remove(_ url: String) {}
}
