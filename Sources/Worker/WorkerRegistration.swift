internal import Concurrency
internal import JobQueue

/// One registration of a worker, from its start to its end or the loss of its lease.
///
/// Five services run beside the claim loop and end with it: the settler, the heartbeat, the queue's maintenance, its
/// housekeeping, and the exchange of what workers know of origins.
struct WorkerRegistration: Sendable {
    /// Why a shift ended.
    enum Reason: Sendable {
        case finished
        case leaseLost
        case failed(QueueError)
    }

    /// Between two heartbeats, which also tell what was cancelled: whoever cancels a batch is heard so soon.
    static let heartbeat = Duration.milliseconds(750)
    /// Between two rounds of maintenance.
    static let maintenance = Duration.seconds(1)
    /// Between two rounds of housekeeping.
    static let housekeeping = Duration.seconds(30)
    /// Between two looks at what other workers found of origins.
    static let manners = Duration.seconds(1)
    /// Between two looks at the rules by which errors count against origins.
    static let rules = Duration.seconds(60)
    /// Work due later than this does not keep a drain waiting.
    static let patience = Duration.seconds(30)

    let worker: PrefetchWorker
    let stop: ShutdownRequest
    let session: WorkerSession
    let lease: Lease
    let running = RunningTasks<Claim>()
    private let deadline: ContinuousClock.Instant?
    private let settler: BatchCompleter
    private let tally: Tally
    private let pipelines: PipelineCache
    private let source: ClaimSource

    /// Registers the worker.
    init(
        worker: PrefetchWorker, stop: ShutdownRequest, deadline: ContinuousClock.Instant?,
        summary: PrefetchWorker.Summary
    ) async throws(QueueError) {
        self.worker = worker
        self.stop = stop
        self.deadline = deadline
        tally = Tally(summary)
        let asked = Lease.bootTime()
        session = try await worker.queue.startWorker(worker.configuration.description)
        lease = Lease(seconds: session.lease.seconds, asked: asked)
        source = worker.configuration.source
        settler = BatchCompleter(
            session: session, source: source, tally: tally, freed: stop.doorbell, observe: worker.observe)
        pipelines = PipelineCache(queue: worker.queue)
        worker.observe(.started(worker: session.id))
    }

    /// Works until there is a reason to end; nothing started here runs on after it.
    func run() async -> (summary: PrefetchWorker.Summary, reason: Reason) {
        let reason = await withTaskGroup(of: Void.self) { services in
            // It does little else than ask that connection: elsewhere each answer would wake another thread.
            services.addTask(executorPreference: worker.queue.completingExecutor) { await settler.run() }
            services.addTask { await sendHeartbeats() }
            services.addTask { await runUrgentMaintenance() }
            services.addTask { await runMaintenance() }
            services.addTask { await runHousekeeping() }
            services.addTask { await keepOrigins() }
            let reason = await claimLoop()
            services.cancelAll()
            return reason
        }
        // What is still held, cut off by the grace time or with the lease, goes back with its attempt refunded. Where
        // the database cannot be told, the end of the lease tells it.
        do throws(QueueError) {
            try await session.stop()
            if case .failed = reason {} else { tally.leave(try await left()) }
        } catch {
            worker.observe(.queueUnavailable(error))
            // What cannot be asked may well be there.
            if worker.configuration.end != .stopped || deadline != nil { tally.leave(.work) }
        }
        return (tally.summary, reason)
    }

    // MARK: The claim loop

    private func claimLoop() async -> Reason {
        await withDiscardingTaskGroup { jobs in
            var policy = ClaimPolicy(
                slots: worker.configuration.description.slots, drains: worker.configuration.end != .stopped)
            var graceEnd: ContinuousClock.Instant?
            while true {
                policy.freed(tally.takeFreed())
                if let reason = lostOrFailed {
                    jobs.cancelAll()
                    return reason
                }
                if let deadline, deadline <= .now, stop.urgency == .none {
                    tally.timeIsUp()
                    stop.ask(.finish)
                }
                if stop.urgency > .none && graceEnd == nil {
                    policy.stop()
                    settler.stopClaiming()
                    graceEnd = .now + worker.configuration.grace
                    worker.observe(.stopping(running: tally.running))
                }
                if stop.urgency == .cancel || graceEnd.map({ $0 <= .now }) ?? false {
                    jobs.cancelAll()
                    settler.abandon()
                }

                do throws(QueueError) {
                    // A commit that filled the slots it freed is a claim like any other.
                    let refills = tally.takeFilled()
                    for filled in refills {
                        policy.freed(filled.slots)
                        policy.claimed(filled.jobs.count, of: filled.slots)
                        start(filled.jobs, in: &jobs)
                    }
                    if refills.contains(where: \.jobs.isEmpty), try await batchIsOver() { leaveBatch(&policy, &jobs) }
                    switch policy.step {
                    case .leave:
                        return .finished
                    case .wait(let pause):
                        await stop.doorbell.wait(atMost: pause)
                        policy.waited()
                    case .look:
                        if try await isOver() { policy.stop() } else { policy.stayed() }
                    case .claim(let count):
                        let claimed = try await session.claim(upTo: count, from: source)
                        policy.claimed(claimed.count, of: count)
                        tally.start(claimed.count)
                        start(claimed, in: &jobs)
                        if claimed.isEmpty, try await batchIsOver() { leaveBatch(&policy, &jobs) }
                    }
                } catch {
                    worker.observe(.queueUnavailable(error))
                    guard error.isTransient || error.code == .workerLost else {
                        jobs.cancelAll()
                        return .failed(error)
                    }
                    policy.claimFailed()
                }
            }
        }
    }

    private func start(_ claimed: [Job], in jobs: inout DiscardingTaskGroup) {
        guard !claimed.isEmpty else { return }
        worker.observe(.claimed(count: claimed.count))
        let now = ContinuousClock.now
        for job in DispatchOrder(claimed).jobs { jobs.addTask { await perform(job, claimedAt: now) } }
    }

    /// Nothing is left of the batch this shift was for. What runs on is nobody's of it any more, as it was cancelled: it
    /// goes back, its attempt refunded, to whoever works for others, or ends.
    private func leaveBatch(_ policy: inout ClaimPolicy, _ jobs: inout DiscardingTaskGroup) {
        policy.stop()
        settler.stopClaiming()
        jobs.cancelAll()
    }

    /// One job: its attempt, whose end the settler commits. Only then its slot is free.
    private func perform(_ job: Job, claimedAt: ContinuousClock.Instant) async {
        let attempt = Attempt(
            job: job, loader: worker.loader, pipelines: pipelines, lease: lease, claimedAt: claimedAt)
        let (result, wasCancelled) = await running.run(job.held) { () async -> Result<Attempt.End?, QueueError> in
            do throws(QueueError) { return .success(try await attempt.run()) } catch { return .failure(error) }
        }
        if wasCancelled { return settler.complete(.cancelled(job)) }
        switch result {
        case .success(let end?): return settler.complete(end)
        case .failure(let error) where !Task.isCancelled: settler.fail(error)
        // Cut off by a lease that was gone for a moment, or by whoever cancelled the loads alone.
        case .success(nil) where !Task.isCancelled: return settler.complete(.givenBack(job))
        // Cut off by the end of the shift, which gives the job back.
        case .success(nil), .failure: break
        }
        settler.giveBack(1)
    }

    private var lostOrFailed: Reason? {
        if let failure = settler.failure { return .failed(failure) }
        return lease.holds ? nil : .leaseLost
    }

    // MARK: The end

    private func isOver() async throws(QueueError) -> Bool {
        switch worker.configuration.end {
        case .stopped: return false
        case .drained: return try await left() != .work
        case .batchFinished(let batch):
            if try await batchIsOver() { return true }
            // What is suspended waits for an operator, not for this worker.
            return try await worker.queue.remaining(of: batch).isDrained
        }
    }

    private func batchIsOver() async throws(QueueError) -> Bool {
        guard case .batchFinished(let batch) = worker.configuration.end else { return false }
        return try await worker.queue.progress(of: .id(batch), isDetailed: false).open == 0
    }

    /// What is left of that for which the worker was to wait.
    private func left() async throws(QueueError) -> PrefetchWorker.Summary.Left {
        switch worker.configuration.end {
        case .stopped where deadline == nil: return .nothing
        case .batchFinished: return try await batchIsOver() ? .nothing : .work
        case .stopped, .drained:
            let left = try await worker.queue.remaining(queue: worker.configuration.queue)
            if left.hasReady || left.hasRunning { return .work }
            guard let due = left.nextDue else { return .nothing }
            return due <= Self.patience ? .work : .later
        }
    }
}
