import Concurrency
import Glibc
import ImageModel
import JobQueue

struct ChaosInjector: Sendable {
    let fleet: ChaosFleet
    let database: ChaosDatabase
    let place: ChaosPlace
    let databaseProxy: FaultProxy
    let originProxies: [FaultProxy]
    let pooler: PrivatePooler?
    let load: ChaosLoad
    let ledger: ChaosLedger
    let isolated: ChaosLaunch
    let old: ChaosLaunch?

    /// Injects all faults at their times and returns after the last has ended; earlier if `isOver`.
    func run(_ plan: FaultPlan, until isOver: @escaping @Sendable () -> Bool) async {
        await withTaskGroup(of: Void.self) { group in
            for (number, injection) in plan.injections.enumerated() {
                let start = ledger.start + .seconds(injection.start)
                while .now < start, !isOver() { try? await Task.sleep(for: .milliseconds(20)) }
                if isOver() { break }
                group.addTask { await perform(injection, number) { await pause(until: injection.end, or: isOver) } }
            }
        }
    }

    private func pause(until end: Double, or isOver: @Sendable () -> Bool) async {
        let end = ledger.start + .seconds(end)
        while .now < end, !isOver() { try? await Task.sleep(for: .milliseconds(20)) }
    }

    private func perform(_ fault: FaultPlan.Injection, _ number: Int, _ duration: () async -> Void) async {
        let target: Int32?
        switch fault.kind {
        case .workerKill: target = await found { await fleet.kill(fault.target) }
        case .workerStop: target = await found { await fleet.stop(fault.target) }
        case .transcoderKill: target = await found { await fleet.signalTranscoder(fault.target, SIGKILL) }
        case .transcoderStop: target = await found { await fleet.signalTranscoder(fault.target, SIGSTOP) }
        default: target = 0
        }
        // A fault without a target is not counted.
        guard let target else { return }
        let start = ContinuousClock.now
        ledger.began(fault.kind)
        do {
            switch fault.kind {
            case .workerKill, .transcoderKill: break
            case .workerStop:
                await duration()
                await fleet.resume(target)
            case .transcoderStop:
                await duration()
                kill(target, SIGCONT)
            case .databaseStop:
                try await database.stop(.immediate)
                await duration()
                try await database.start()
            case .databaseRestart:
                try await database.stop(.fast)
                try await database.start()
            case .databaseFull: try await fill(place.databaseDisk, duration)
            case .cacheFull: try await fill(place.cacheDisk, duration)
            case .backendTerminate: try await terminateBackends(fault.strength < 0.5 ? 1 : 1_000)
            case .poolerRestart: try await pooler?.restart()
            case .databaseDrop, .databaseDelay, .databaseHalfOpen: await disturb(databaseProxy, fault, duration)
            case .originDrop, .originDelay, .originHalfOpen:
                await disturb(originProxies[fault.target % originProxies.count], fault, duration)
            case .clockStep:
                // Forward, and back at the end: after a step back, the timers that libfaketime moves would fire hours
                // late.
                let step = 1 + Int(fault.strength * SteppedClock.largestStep)
                try await place.write("+\(step)\n", to: place.clockFile)
                await duration()
                try await place.write("+0\n", to: place.clockFile)
            case .noNetwork:
                try await join(isolated, number, duration)
                // Guarantee 11: a worker's own fault is charged to no job.
                let charged = try await place.lines(
                    with: "\"error\":\"\(FailureCode.Domain.transport)", ofLog: "\(isolated.name)-\(number)")
                if let first = charged.first {
                    ledger.violated(
                        "the worker without network charged \(charged.count) attempts to jobs: \(first)",
                        under: .noNetwork)
                }
            case .oldBinary: if let old { try await join(old, number, duration) }
            case .idleProducer: try await ChaosTransactions(self).idle(fault, duration)
            case .heldSnapshot: try await ChaosTransactions(self).hold(duration)
            }
        } catch {
            // A fault of the server ends the sessions of other faults.
            if ledger.isDatabaseUndisturbed(since: start) {
                ledger.violated("\(fault.kind.rawValue): \(error)", under: fault.kind)
            }
        }
        ledger.ended(fault.kind)
    }

    /// The process that was hit; nil if there was none for 2 s.
    private func found(_ hit: () async -> Int32?) async -> Int32? {
        for _ in 0..<100 {
            if let process = await hit() { return process }
            try? await Task.sleep(for: .milliseconds(20))
        }
        return nil
    }

    private func fill(_ disk: ChaosPlace.Disk?, _ duration: () async -> Void) async throws {
        guard let disk else { return }
        await place.fill(disk)
        await duration()
        await place.empty(disk)
        // A server whose log cannot be written ends.
        try await database.start()
    }

    private func disturb(_ proxy: FaultProxy, _ fault: FaultPlan.Injection, _ duration: () async -> Void) async {
        switch fault.kind {
        case .databaseDelay, .originDelay: proxy.set(.delaying(.milliseconds(20 + Int(fault.strength * 400))))
        case .databaseHalfOpen, .originHalfOpen: proxy.set(.halfOpen)
        default: proxy.set(.dropping)
        }
        await duration()
        proxy.set(.forwarding)
    }

    private func join(_ launch: ChaosLaunch, _ number: Int, _ duration: () async -> Void) async throws {
        var named = launch
        named.name += "-\(number)"
        try await fleet.add(named)
        await duration()
        await fleet.remove(named.name)
    }

    private func terminateBackends(_ count: Int) async throws {
        let session = BenchSession(database.url)
        try await session.execute(
            """
            SELECT count(pg_terminate_backend(pid)) FROM (
                SELECT pid FROM pg_stat_activity WHERE datname = current_database()
                AND application_name = '\(ChaosDatabase.applicationName)' ORDER BY backend_start DESC LIMIT \(count)) AS victim
            """)
        await session.close()
    }
}
