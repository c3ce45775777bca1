internal import Concurrency
internal import Downloader
internal import ImageModel
internal import JobQueue
internal import Prefetcher

/// One registration of a worker, until it ends or loses its lease. Performs the actions of `WorkerState`.
struct WorkerRegistration: Sendable {
    /// A drain does not wait for work due later than this.
    static let drainHorizon = Duration.seconds(30)

    private let worker: PrefetchWorker
    private let shutdown: ShutdownRequest
    /// Wakes the claim loop: a slot is free, the lease is lost, or shutdown is requested.
    private let wake: AsyncEvent
    private let session: any WorkerJobs
    private let lease: Lease
    private let state: Locked<WorkerState>
    private let pipelines: PipelineCache
    private let completer: BatchCompleter
    private let running = RunningTasks<Claim>()

    private var configuration: PrefetchWorker.Configuration { worker.configuration }

    init(
        _ worker: PrefetchWorker, _ shutdown: ShutdownRequest, _ wake: AsyncEvent,
        deadline: ContinuousClock.Instant?, summary: PrefetchWorker.Summary
    ) async throws(QueueError) {
        self.worker = worker
        self.shutdown = shutdown
        self.wake = wake
        let configuration = worker.configuration
        let sent = Lease.bootTime()
        var description = configuration.description
        // A worker that ends with a batch claims from any queue.
        if case .batchFinished = configuration.end {} else { description.queue = configuration.queue }
        session = try await worker.queue.register(description)
        lease = Lease(seconds: session.lease.seconds, sent: sent)
        state = Locked(
            WorkerState(
                .init(
                    slots: configuration.description.slots, end: configuration.end, deadline: deadline,
                    grace: configuration.grace, idlePause: .seconds(Double.random(in: WorkerState.idlePauses))),
                summary: summary))
        pipelines = PipelineCache(queue: worker.queue)
        completer = BatchCompleter(
            session: session, traces: configuration.recordsTraces ? worker.queue.database : nil, state: state,
            wake: wake,
            observe: worker.observe)
        configuration.origins?.limits.withLock { $0.evidence.clockOffset = session.clockOffset }
        worker.observe(.started(worker: session.id))
    }

    /// The other drain to which this worker yields, after ending its registration. Nil if this worker is to run.
    func otherDrain() async throws(QueueError) -> OtherDrain? {
        guard configuration.yields, configuration.end == .drained else { return nil }
        do throws(QueueError) {
            guard let other = try await session.startDrain(of: configuration.queue) else { return nil }
            try await session.stop()
            return other
        } catch {
            // Without this, a wrong queue name would leave a worker that counts as lost for a day.
            if !error.isTransient { try? await session.stop() }
            throw error
        }
    }

    /// Works until `WorkerState` has a reason to end. All its tasks have ended when it returns.
    func run() async -> (summary: PrefetchWorker.Summary, ending: WorkerState.Ending) {
        let heartbeat = HeartbeatService(
            session: session, lease: lease, running: running, origins: configuration.origins,
            isIdle: { [state] in state.withLock { $0.inUse == 0 } }, maintenance: worker.maintenance, wake: wake,
            observe: worker.observe)
        var services: [any WorkerService] = [heartbeat, completer]
        if let origins = configuration.origins, let database = worker.queue.database {
            services.append(
                OriginExchange(origins: origins, queue: database, worker: session.id, observe: worker.observe))
            services.append(OriginRules(origins: origins, queue: database, observe: worker.observe))
        }
        let ending = await withServices(services) { await claimLoop() }
        var summary = state.withLock { $0.summary }
        // Release held jobs. Without a database they are released when the lease ends.
        do throws(QueueError) {
            try await session.stop()
            if case .failed = ending {} else { summary.left = try await left() }
        } catch {
            worker.observe(.queueUnavailable(error))
            if configuration.end != .stopped || configuration.runtime != nil { summary.left = .work }
        }
        return (summary, ending)
    }

    // MARK: - The claim loop

    /// As long as the longest uninterrupted claim.
    private static let stuckLimit = Duration.seconds(60)

    private func claimLoop() async -> WorkerState.Ending {
        await withDiscardingTaskGroup { attempts in
            // Start of the current run of interrupted claims. The claim clock does not count these iterations.
            var stuckSince: ContinuousClock.Instant?
            var isUnavailable = false
            while true {
                if let since = stuckSince, .now - since >= Self.stuckLimit { stuckSince = nil }
                if stuckSince == nil { configuration.claimClock.tick() }
                do throws(QueueError) {
                    switch nextAction() {
                    case .claim(let limit):
                        let jobs = try await session.claim(upTo: limit, from: configuration.source)
                        stuckSince = nil
                        if isUnavailable.take() { worker.observe(.queueAvailable) }
                        state.withLock { $0.claimed(jobs.count, of: limit, at: .now) }
                        start(jobs, in: &attempts)
                    case .checkEnd(let isIdle):
                        let isReached = try await endIsReached(isIdle: isIdle)
                        state.withLock { $0.checkedEnd(isReached: isReached) }
                    case .announceStop(let inUse):
                        shutdown.request(.finish)
                        worker.observe(.stopping(running: inUse))
                    case .announceFault(let fault):
                        worker.observe(.localFault(fault))
                    case .announceProfileFault(let fault):
                        worker.observe(.profileFault(fault))
                    case .reportFault(let text):
                        do throws(QueueError) {
                            try await session.report(fault: text)
                        } catch {
                            state.withLock { $0.faultReportFailed() }
                            throw error
                        }
                    case .wakeCompleter:
                        completer.wakeUp()
                    case .cancelAttempts:
                        attempts.cancelAll()
                    case .wait(let time):
                        await wake.wait(atMost: time)
                    case .leave(let ending):
                        attempts.cancelAll()
                        return ending
                    }
                } catch {
                    if error.code == .interrupted {
                        stuckSince = stuckSince ?? .now
                    } else {
                        isUnavailable = true
                        worker.observe(.queueUnavailable(error))
                    }
                    if error.code == .workerLost { lease.lose() }
                    let isFinal = !error.isTransient && error.code != .workerLost
                    state.withLock { if isFinal { $0.fail(error) } else { $0.claimFailed(at: .now) } }
                }
            }
        }
    }

    private func nextAction() -> WorkerState.ClaimAction {
        let (isLost, urgency, isCancelled) = (lease.isLost, shutdown.urgency, Task.isCancelled)
        let mustClaim = worker.foundJobs.withLock { $0.take() }
        return state.withLock { state in
            let now = ContinuousClock.now
            if isLost { state.loseLease() }
            if mustClaim { state.claimAtOnce() }
            if isCancelled { state.abandon() }
            state.requestShutdown(urgency, at: now)
            return state.nextClaimAction(at: now)
        }
    }

    private func start(_ jobs: [Job], in attempts: inout DiscardingTaskGroup) {
        guard !jobs.isEmpty else { return }
        worker.observe(.claimed(count: jobs.count))
        let now = ContinuousClock.now
        let attempted = DispatchOrder(jobs).jobs.map { attempt($0, claimedAt: now) }
        if let cache = worker.loader as? any CacheLoader, state.withLock({ $0.expectsCached }) {
            // In portions: the database records the first ones while files are opened for the others.
            for start in stride(from: 0, to: attempted.count, by: Self.cachedPortion) {
                let portion = Array(attempted[start..<min(start + Self.cachedPortion, attempted.count)])
                attempts.addTask { await performCached(portion, cache) }
            }
        } else {
            for attempt in attempted { attempts.addTask { await perform(attempt) } }
        }
    }

    private func attempt(_ job: Job, claimedAt: ContinuousClock.Instant) -> Attempt {
        Attempt(
            job: job, loader: worker.loader, pipelines: pipelines, lease: lease, claimedAt: claimedAt,
            limits: configuration.limits, recordsSteps: configuration.recordsTraces)
    }

    private static let cachedPortion = 32

    /// Adds the results of jobs that the cache answers, all together, and runs each other one.
    private func performCached(_ attempted: [Attempt], _ cache: any CacheLoader) async {
        var requests: [LoadRequest] = []
        var candidates: [Attempt] = []
        var others: [Attempt] = []
        for attempt in attempted {
            guard let request = await attempt.cacheRequest() else {
                others.append(attempt)
                continue
            }
            requests.append(request)
            candidates.append(attempt)
        }
        let start = ContinuousClock.now
        for (attempt, report) in zip(candidates, await cache.cached(requests)) {
            if let report {
                completer.add(attempt.result(of: report, waited: start - attempt.claimedAt))
            } else {
                others.append(attempt)
            }
        }
        await withDiscardingTaskGroup { [others] group in
            for attempt in others { group.addTask { await perform(attempt) } }
        }
    }

    /// Runs one attempt and adds its result to the completer. The slot is free after the commit.
    private func perform(_ attempt: Attempt) async {
        let job = attempt.job
        let (result, wasCancelled) = await running.run(job.held) { await attempt.run() }
        switch result {
        case _ where wasCancelled: completer.add(.cancelled(job))
        case .success(let result?): completer.add(result)
        // The loader cancelled the load; the worker continues.
        case .success(nil) where !Task.isCancelled: completer.add(.released(job))
        // The registration ends, which releases the job.
        case .success(nil): cutOff(nil)
        case .failure(let error): cutOff(Task.isCancelled ? nil : error)
        }
    }

    private func cutOff(_ error: QueueError?) {
        state.withLock { state in
            if let error { state.fail(error) }
            state.cutOff()
        }
        wake.signal()
    }

    // MARK: - The configured end

    private func endIsReached(isIdle: Bool) async throws(QueueError) -> Bool {
        guard case .batchFinished(let batch) = configuration.end else { return try await left() != .work }
        if try await worker.queue.openItems(of: batch) == 0 { return true }
        // Suspended jobs wait for an operator: do not wait for them.
        guard isIdle else { return false }
        return try await worker.queue.remaining(of: batch, queue: configuration.queue).isDrained
    }

    /// Work that the configured end waits for.
    private func left() async throws(QueueError) -> PrefetchWorker.Summary.Left {
        switch configuration.end {
        case .stopped where configuration.runtime == nil: return .nothing
        case .batchFinished(let batch): return try await worker.queue.openItems(of: batch) == 0 ? .nothing : .work
        case .stopped, .drained:
            let left = try await worker.queue.remaining(of: nil, queue: configuration.queue)
            if left.hasReady || left.hasRunning { return .work }
            guard let due = left.nextDue else { return .nothing }
            return due <= Self.drainHorizon ? .work : .later
        }
    }
}
