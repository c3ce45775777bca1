import Concurrency
import JobQueue
import Worker

/// One life of a simulated worker: everything that `larder work` sends to the database, without images.
///
/// It claims as many jobs as it has slots, holds them until its next turn, completes them and claims again. Meanwhile
/// it sends heartbeats, and runs maintenance when it is due. Unlike `larder work` it does not read held origins, as
/// none is held.
struct FleetWorker: Sendable {
    /// Time until the next claim after an empty one, and between two attempts to register.
    private static let pause = 0.75...1.25

    /// Its place in the fleet, which a later life may take over.
    let place: Int
    let slots: Int
    /// Time between two turns; zero for none.
    let period: Duration
    let queue: PostgresJobQueue
    let ledger: FleetLedger
    let end: ContinuousClock.Instant
    /// Whether it dies at its end, breaking off all statements and connections. Otherwise it completes its jobs and
    /// deregisters.
    let dies: Bool

    /// Registers and works until its end.
    func run() async {
        ledger.set(queue, at: place)
        while ContinuousClock.now < end && !Task.isCancelled {
            do throws(QueueError) {
                let session = try await queue.workers.start(BenchWorker.description(slots))
                try await work(in: session)
            } catch {
                note(error)
                try? await Task.sleep(for: .seconds(Double.random(in: Self.pause)))
            }
        }
        ledger.set(nil, at: place)
        await queue.close()
    }

    private func work(in session: WorkerSession) async throws(QueueError) {
        var held: [Job] = []
        let maintenance = MaintenanceSignal()
        let result: Result<Void, QueueError> = await withTaskGroup(of: Void.self) { group in
            group.addTask { await sendHeartbeats(in: session, maintenance) }
            for kind in MaintenanceKind.allCases {
                let service = MaintenanceService(
                    kind, queue: queue, signal: maintenance, foundJobs: {}, observe: note)
                group.addTask { await service.run() }
            }
            if dies {
                group.addTask {
                    try? await Task.sleep(until: end, clock: .continuous)
                    if !Task.isCancelled { queue.end(by: .now) }
                }
            }
            do throws(QueueError) {
                try await takeTurns(&held, in: session)
                group.cancelAll()
                return .success(())
            } catch {
                group.cancelAll()
                return .failure(error)
            }
        }
        if dies && ContinuousClock.now >= end {
            queue.end(by: .now)
            ledger.add { $0.died += 1 }
            return
        }
        try result.get()
        try await complete(&held, in: session)
        try await session.stop()
    }

    /// - Throws: `.workerLost`, after which it registers again.
    private func takeTurns(_ held: inout [Job], in session: WorkerSession) async throws(QueueError) {
        var next = ContinuousClock.now + period * Double.random(in: 0...1)
        while true {
            try? await Task.sleep(until: min(next, end), clock: .continuous)
            guard ContinuousClock.now < end, !Task.isCancelled else { return }
            next = max(next + period, .now)
            do throws(QueueError) {
                try await complete(&held, in: session)
                if held.isEmpty {
                    held = try await ledger.timed(\.claims) { () async throws(QueueError) in
                        try await session.claim(upTo: slots)
                    }
                }
            } catch {
                guard error.code != .workerLost else { throw error }
                note(error)
            }
            // Nothing is ready, or a call has failed.
            if held.isEmpty { next = max(next, .now + .seconds(Double.random(in: Self.pause))) }
        }
    }

    /// Completes the held jobs, except those locked by another transaction.
    private func complete(_ held: inout [Job], in session: WorkerSession) async throws(QueueError) {
        guard !held.isEmpty else { return }
        let outcomes = held.map(BenchWorker.outcome)
        let results = try await ledger.timed(\.completions) { () async throws(QueueError) in
            try await session.complete(outcomes)
        }
        held = zip(held, results).filter { $0.1.decision == .busy }.map(\.0)
        ledger.add {
            $0.completed += results.count { $0.decision == .succeeded }
            $0.stale += results.count { $0.decision == .stale }
        }
    }

    private func sendHeartbeats(in session: WorkerSession, _ maintenance: MaintenanceSignal) async {
        var pause = WorkerSession.heartbeatPause
        while true {
            try? await Task.sleep(for: HeartbeatService.wait(pause))
            if Task.isCancelled { return }
            do throws(QueueError) {
                let reply = try await ledger.timed(\.heartbeats) { () async throws(QueueError) in
                    try await session.heartbeat()
                }
                pause = reply.pause
                maintenance.answered(isDue: reply.isMaintenanceDue)
            } catch {
                // The next claim registers it again.
                if error.code != .workerLost { note(error) }
            }
        }
    }

    private func note(_ event: WorkerEvent) {
        if case .queueUnavailable(let error) = event { note(error) }
    }

    private func note(_ error: QueueError) {
        if dies && ContinuousClock.now >= end { return }
        if error.code == .workerLost { ledger.add { $0.lost += 1 } } else { ledger.failed(error) }
    }
}
