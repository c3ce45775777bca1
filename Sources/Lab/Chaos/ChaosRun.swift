import Concurrency
import FoundationEssentials
import Measuring
import Terminal
import Worker

/// One run of `larder-lab chaos`: starts everything, injects the planned faults, drains, and audits the result.
struct ChaosRun: Sendable {
    struct Options: Sendable {
        var databaseURL: String?
        var seconds: Int
        var seed: UInt64
        var workers: Int
        var kinds: [FaultKind]
        var oldBinary: String?
        var logs: String?
    }

    struct Result: Sendable {
        let rows: [ChaosLedger.Row]
        let violations: [ChaosLedger.Violation]
        let violationCount: Int
        let violationsAtEnd: Int
        let totals: ChaosAudit.Totals
        let samples: Int
    }

    private let options: Options
    private let program: String
    private let ledger = ChaosLedger()
    private let stop: ShutdownRequest

    init(_ options: Options, stop: ShutdownRequest) throws {
        self.options = options
        self.stop = stop
        program = try TestedProgram.path()
    }

    func run() async throws -> Result {
        let place = try await ChaosPlace(
            logs: options.logs, seconds: options.seconds, hasDatabase: options.databaseURL == nil)
        return try await finally({ await place.unmount() }) {
            do {
                let database =
                    if let url = options.databaseURL { try await ChaosDatabase(url) } else {
                        try await ChaosDatabase(in: place)
                    }
                let result = try await finally({ try await database.stop() }) { try await run(place, database) }
                if result.violationCount > 0 { await keepLogs(place) }
                return result
            } catch {
                await keepLogs(place)
                throw error
            }
        }
    }

    /// The result is useful without them.
    private func keepLogs(_ place: ChaosPlace) async {
        do {
            Console.note("larder-lab: the logs are kept in \(try await place.keepLogs())")
        } catch {
            Console.note("larder-lab: the logs cannot be kept: \(CommandError(error).message)")
        }
    }

    private func run(_ place: ChaosPlace, _ database: ChaosDatabase) async throws -> Result {
        let scene = try await ChaosScene(options, program, place, database, ledger)
        return try await finally({ await scene.end() }) {
            let plan = FaultPlan(
                seed: options.seed, seconds: Double(options.seconds), kinds: scene.possible)
            Console.note(
                "larder-lab: seed \(options.seed), \(plan.injections.count) faults in \(options.seconds) s, logs in \(place.logs)"
            )
            let samples = try await inject(plan, scene)
            ledger.beginEnd()
            try await scene.finalDrain()
            let totals = try await scene.audit.audit()
            try await scene.audit.verifyCache(program: program)
            return Result(
                rows: ledger.rows, violations: ledger.violations, violationCount: ledger.violationCount,
                violationsAtEnd: ledger.violationsAtEnd, totals: totals, samples: samples)
        }
    }

    /// Runs producers, sampler and faults, then waits for the last job; returns the number of samples.
    private func inject(_ plan: FaultPlan, _ scene: ChaosScene) async throws -> Int {
        let isDrained = Locked(false)
        let end = ledger.start + .seconds(options.seconds)
        let isOver: @Sendable () -> Bool = { [stop] in .now >= end || stop.urgency != .none }
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                while !isDrained.withLock({ $0 }) {
                    await scene.sampler.sample()
                    for kind in ledger.unrecovered(after: .seconds(60)) {
                        ledger.violated("no job was completed within 60 s of the fault", under: kind)
                    }
                    try await Task.sleep(for: .milliseconds(100))
                }
            }
            group.addTask {
                while !isDrained.withLock({ $0 }) {
                    try await scene.fleet.supervise()
                    try await Task.sleep(for: .milliseconds(50))
                }
            }
            group.addTask {
                // Set even after errors, so that the loops above end.
                defer { isDrained.withLock { $0 = true } }
                await withTaskGroup(of: Void.self) { work in
                    for producer in scene.producers { work.addTask { await producer.run(until: isOver) } }
                    work.addTask { await scene.injector.run(plan, until: isOver) }
                }
                try await scene.audit.drain { scene.sampler.openItems.withLock { $0 } }
            }
            try await group.waitForAll()
            return await scene.sampler.samples
        }
    }
}
