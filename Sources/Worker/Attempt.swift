internal import ImageModel
internal import JobQueue
internal import Prefetcher

/// One attempt at a job: reads its pipeline and loads its image and variants into the cache.
struct Attempt: Sendable {
    let job: Job
    let loader: any Loader
    let pipelines: PipelineCache
    let lease: Lease
    let claimedAt: ContinuousClock.Instant
    let limits: WorkerLimits?
    /// Includes the load's steps in the report.
    let recordsSteps: Bool

    private var isBlocked: Bool { job.isBlocked && !passesBlock }

    /// True if the URL was blocked by a limit that is lower than this worker's limit.
    private var passesBlock: Bool { job.blockedBy.map { limits?.exceeds($0) ?? false } ?? false }

    /// The load's result; nil if it was cancelled or the lease was lost. While the database cannot confirm the lease,
    /// the attempt waits and publishes nothing.
    ///
    /// Fails when the pipeline cannot be read from the database.
    func run() async -> Result<AttemptResult?, QueueError> {
        do throws(QueueError) {
            let pipeline = try await pipelines.pipeline(job.pipeline)
            let waited = ContinuousClock.now - claimedAt
            switch pipeline {
            case .failure(let reason):
                return .success(AttemptResult(job, .failed(reason), LoadReport(), claimedAt: claimedAt, waited: waited))
            case .success(let pipeline):
                while true {
                    let result = await load(pipeline, waited)
                    // The load stopped because it could not confirm its lease. Repeat it once the database answers.
                    guard result == nil, !Task.isCancelled, !lease.holds, await lease.isConfirmed() else {
                        return .success(result)
                    }
                }
            }
        } catch {
            return .failure(error)
        }
    }

    /// The request for the cache alone; nil when the URL is blocked, or there is none.
    func cacheRequest() async -> LoadRequest? {
        guard !job.isBlocked, case .success(let pipeline)? = try? await pipelines.pipeline(job.pipeline)
        else { return nil }
        return try? request(pipeline)
    }

    /// The result of a load that ended with a report.
    func result(of report: LoadReport, waited: Duration) -> AttemptResult {
        if let fault = report.failure, fault.isLocalFault { return .returned(job, because: fault) }
        var result = AttemptResult(
            job, report.failure.map { .failed($0) } ?? .succeeded, report, claimedAt: claimedAt, waited: waited)
        result.outcome.unblocks = passesBlock && report.failure == nil
        return result
    }

    private func request(_ pipeline: Pipeline) throws(LoadError) -> LoadRequest {
        var options = LoadOptions(rawValue: job.options)
        // RetryFailed passes every block except an operator's: report only that one.
        if isBlocked { options.remove(.retryFailed) }
        var request = LoadRequest(url: job.url, variants: pipeline.variants, options: options, context: try context())
        request.keyRule = pipeline.cacheKey
        request.blocklist = ClaimedBlocklist(isBlocked: isBlocked)
        request.recordsSteps = recordsSteps
        request.mayPublish = { [lease] in lease.holds }
        return request
    }

    private func load(_ pipeline: Pipeline, _ waited: Duration) async -> AttemptResult? {
        do throws(LoadError) {
            return result(of: try await loader.load(try request(pipeline)), waited: waited)
        } catch {
            if error.isCancellation { return nil }
            if error.isLocalFault { return .returned(job, because: error.failure) }
            if let delay = error.heldFor { return .snoozed(job, for: delay) }
            var report = error.report
            // The retry rules match on the HTTP status.
            report.httpStatus = error.httpStatus
            var result = AttemptResult(
                job, .failed(error.failure, retryAfter: error.retryAfter), report, claimedAt: claimedAt, waited: waited)
            result.outcome.workerLimit = limits?.limit(of: error.failure.failureCode)
            return result
        }
    }

    /// The job's context. SQL stores it unchecked, so parsing can fail.
    private func context() throws(LoadError) -> LoadContext {
        guard let json = job.context else { return LoadContext() }
        do throws(VariantError) {
            return try LoadContext(json: json.utf8)
        } catch {
            throw LoadError(.lookUp, .notConfigured, "the job's context: \(error)")
        }
    }
}

/// The blocklist entry that the claim returned. The database updates the entry when the job completes, by `retry_rule`.
private struct ClaimedBlocklist: Blocklist {
    let isBlocked: Bool

    func contains(_ url: String) -> Bool { isBlocked }
    func insert(_ url: String, for duration: Duration) {}
    func remove(_ url: String) {}
}

/// Limits on an image that differ between workers.
package struct WorkerLimits: Sendable, Equatable {
    /// Bytes of memory for a transcoder.
    package var memory: Int64
    /// Milliseconds of processor time: soft plus hard limit, so that raising either raises it.
    package var time: Int64

    package init(memory: Int64, time: Int64) {
        self.memory = memory
        self.time = time
    }

    /// The limit that the failure exceeded; nil for other failures.
    func limit(of failure: FailureCode) -> Int64? {
        switch failure {
        case .memoryExceeded: memory
        case .timeExceeded: time
        default: nil
        }
    }

    /// True if this worker may load an image that exceeded `limit` elsewhere.
    func exceeds(_ limit: ExceededLimit) -> Bool {
        guard let own = self.limit(of: FailureCode(domain: FailureCode.Domain.larder, code: limit.code)) else {
            return false
        }
        return own > limit.value
    }
}
