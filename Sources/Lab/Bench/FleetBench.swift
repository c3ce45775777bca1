import CommandLine
import Concurrency
import EmbeddedPostgres
import FoundationEssentials
import JobQueue
import Measuring

/// The measurement of `larder-lab bench fleet`: many workers behind a pooler, some of which die.
struct FleetBench: Sendable {
    struct Options: Sendable {
        var workers = 1_000
        var seconds = 60
        /// Jobs per second given to the fleet; 0 for as many as it can do.
        var rate = 10_000
        /// Jobs that a worker claims at once.
        var slots = 32
        /// Workers that die per minute.
        var deaths = 50
        /// Maximum connections from the pooler to the server.
        var serverConnections = 50
    }

    /// Goal for the 99 % quantile of claims, in ms.
    static let claimGoal = 50.0
    /// Maximum jobs enqueued beforehand; further ones are enqueued meanwhile.
    private static let mostBefore = 1_000_000
    /// Maximum concurrent statements in this process.
    private static let threads = 256
    /// Connections to the server in addition to the pooler's.
    private static let ownConnections = 30
    private static let batch = "fleet"
    /// Workers that finish the rest, and their time limit.
    private static let drains = 4
    private static let drainLimit = Duration.seconds(1_200)

    private let options: Options
    private let server: BenchServer
    private let pooler: PrivatePooler
    private let ledger = FleetLedger()
    private let threads = ThreadPool(name: "fleet", threads: Self.threads)

    /// Runs it on a private server behind a private pooler.
    ///
    /// - Parameter note: receives lines of progress.
    static func run(_ options: Options, _ note: @Sendable (String) -> Void) async throws -> (
        FleetResult, version: String
    ) {
        if let fault = missing(poolerAt: PrivatePooler.program) { throw MeasuringError(fault) }
        try allowConnections(options)
        return try await BenchServer.with(
            on: nil,
            configure: { session in
                let connections = options.serverConnections + ownConnections
                try await session.execute("ALTER SYSTEM SET max_connections = \(connections)")
                try await StatementTimes.prepare(session)
            }, needsPgbench: false
        ) { server in
            guard let status = try await server.cluster?.status(), case .running(let postmaster) = status.state else {
                throw MeasuringError("the private server does not run")
            }
            let place = server.file("pooler")
            try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: false)
            let pooler = try PrivatePooler(
                in: place, server: status.socketDirectory, connections: options.serverConnections,
                clients: clients(options))
            try await pooler.start()
            return try await finally({ await pooler.stop() }) {
                let bench = FleetBench(options: options, server: server, pooler: pooler)
                return (try await bench.measure(postmaster: postmaster, note), server.version)
            }
        }
    }

    /// The error message if the program is missing; nil if it is installed.
    static func missing(poolerAt path: String) -> String? {
        FileManager.default.isExecutableFile(atPath: path)
            ? nil : "\(path) is missing; install the Debian package pgbouncer"
    }

    private init(options: Options, server: BenchServer, pooler: PrivatePooler) {
        self.options = options
        self.server = server
        self.pooler = pooler
    }

    /// Maximum client connections: two per worker and, while statements are slow, four more.
    private static func clients(_ options: Options) -> Int { options.workers * 6 + 100 }

    private static func allowConnections(_ options: Options) throws {
        Machine.allowOpenFiles()
        let needed = options.workers * 3 + options.serverConnections + 300
        guard Machine.openFiles >= needed else {
            throw MeasuringError(
                "\(options.workers) workers need \(needed) open files, and the limit is \(Machine.openFiles) (ulimit -Hn)"
            )
        }
    }

    private func measure(postmaster: Int32, _ note: @Sendable (String) -> Void) async throws -> FleetResult {
        let session = server.session()
        let times = try await StatementTimes(session)
        let producer = BenchWorker(databaseURL: pooler.url)
        try await reachPooler()
        let warmUp = 2 + Double(options.workers) / 100
        let load = Double(options.rate > 0 ? options.rate : 30_000)
        let needed = Int(load * (Double(options.seconds) + warmUp) * 1.05).roundedUp(to: EnqueueRequest.maxURLs)
        let before = min(needed, Self.mostBefore)
        note("enqueuing \(Double(before).short) jobs")
        for start in stride(from: 0, to: before, by: EnqueueRequest.maxURLs) {
            try await producer.enqueue(start..<start + EnqueueRequest.maxURLs, Self.batch)
        }
        try await producer.queue.workers.maintain(force: true)

        note(
            "starting \(Double(options.workers).short) workers in \(warmUp.short) s, then measuring for \(options.seconds) s"
        )
        let begin = ContinuousClock.now + .seconds(warmUp)
        let end = begin + .seconds(options.seconds)
        var (intervals, statements): ([FleetInterval], [StatementTimes.Statement]) = ([], [])
        let enqueued = try await withThrowingTaskGroup(of: Int.self) { group in
            for place in 0..<options.workers {
                group.addTask {
                    await live(at: place, from: begin, until: end, warmUp: .seconds(warmUp))
                    return 0
                }
            }
            group.addTask { try await feed(producer, from: before, to: needed, until: end) }
            try await Task.sleep(until: begin, clock: .continuous)
            guard let process = await pooler.processID else { throw MeasuringError("pgbouncer does not run") }
            try await times.reset()
            let sampler = FleetSampler(
                session: session, ledger: ledger, postmaster: postmaster, pooler: process)
            intervals = try await sampler.sample(seconds: options.seconds)
            statements = try await times.read()
            var enqueued = before
            for try await count in group { enqueued += count }
            return enqueued
        }
        note("waiting for the jobs of the last workers that died, and doing the rest")
        try await drain()
        try await check(enqueued: enqueued, session)
        let rescues = try await session.number("SELECT coalesce(sum(rescues), 0) FROM larder_data.job_history")
        return FleetResult(
            options: options, intervals: intervals, statements: statements, source: times.source, cores: Machine.cores,
            rescues: rescues)
    }

    /// Waits until the pooler passes statements on.
    private func reachPooler() async throws {
        let end = ContinuousClock.now + .seconds(30)
        while true {
            do {
                try await BenchSession(pooler.url).execute("SELECT 1")
                return
            } catch {
                guard ContinuousClock.now < end else { throw error }
                try await Task.sleep(for: .milliseconds(100))
            }
        }
    }

    // MARK: - The workers

    /// The successive workers at one place; each but the last one dies.
    private func live(
        at place: Int, from begin: ContinuousClock.Instant, until end: ContinuousClock.Instant, warmUp: Duration
    ) async {
        // Do not start all at once.
        try? await Task.sleep(for: warmUp * (0.9 * Double(place) / Double(options.workers)))
        for death in deaths(at: place) {
            await worker(at: place, until: begin + .seconds(death), dies: true).run()
            try? await Task.sleep(for: .seconds(1))
        }
        await worker(at: place, until: end, dies: false).run()
    }

    /// When workers at a place die, in seconds from the beginning: all deaths are spread evenly over time and places.
    private func deaths(at place: Int) -> [Double] {
        let count = options.deaths * options.seconds / 60
        return stride(from: place, to: count, by: options.workers).map {
            (Double($0) + 0.5) / Double(count) * Double(options.seconds)
        }
    }

    private func worker(at place: Int, until end: ContinuousClock.Instant, dies: Bool) -> FleetWorker {
        var configuration = PostgresJobQueue.Configuration(databaseURL: pooler.url)
        // As `larder work` does.
        configuration.maxWait = .seconds(5)
        configuration.threads = threads
        let period = options.rate > 0 ? Double(options.slots * options.workers) / Double(options.rate) : 0
        return FleetWorker(
            place: place, slots: options.slots, period: .seconds(period), queue: PostgresJobQueue(configuration),
            ledger: ledger, end: end, dies: dies)
    }

    // MARK: - The jobs

    /// Keeps half of the first jobs waiting until all are enqueued; returns how many it has added.
    private func feed(
        _ producer: BenchWorker, from first: Int, to last: Int, until end: ContinuousClock.Instant
    ) async throws -> Int {
        var next = first
        while next < last && ContinuousClock.now < end {
            guard next - ledger.completed < first / 2 else {
                try await Task.sleep(for: .milliseconds(100))
                continue
            }
            try await producer.enqueue(next..<next + EnqueueRequest.maxURLs, Self.batch)
            next += EnqueueRequest.maxURLs
        }
        return next - first
    }

    /// Does the remaining jobs, including jobs that dead workers hold until their lease ends.
    private func drain() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<Self.drains { group.addTask { try await doRest() } }
            try await group.waitForAll()
        }
        if let violation = try await BenchWorker(databaseURL: server.url).queue.reports.check().first {
            throw MeasuringError("the queue is not sound: \(violation.invariant): \(violation.detail)")
        }
    }

    private func doRest() async throws {
        let worker = BenchWorker(databaseURL: server.url)
        let limit = ContinuousClock.now + Self.drainLimit
        while true {
            let session = try await worker.start(slots: 1_000)
            do {
                return try await work(in: session, of: worker.queue, until: limit)
            } catch let error as QueueError {
                // On a machine that stalls for longer than a lease, other workers take what this one holds.
                guard error.code == .workerLost else { throw error }
            }
        }
    }

    /// Claims and completes until nothing is ready, running or due.
    private func work(
        in session: WorkerSession, of queue: PostgresJobQueue, until limit: ContinuousClock.Instant
    ) async throws {
        while true {
            guard ContinuousClock.now < limit else { throw MeasuringError("jobs are left after \(Self.drainLimit)") }
            _ = try await session.heartbeat()
            var jobs = try await session.claim(upTo: 1_000)
            guard jobs.isEmpty else {
                while !jobs.isEmpty {
                    let results = try await session.complete(jobs.map(BenchWorker.outcome))
                    jobs = zip(jobs, results).filter { $0.1.decision == .busy }.map(\.0)
                }
                continue
            }
            // A task that met another worker's lock is due again at the next turn.
            do throws(QueueError) { try await queue.workers.maintain(force: true) } catch {
                guard error.code == .refused else { throw error }
            }
            let left = try await queue.reports.remaining()
            guard left.hasReady || left.hasRunning || left.nextDue != nil else { break }
            try await Task.sleep(for: .milliseconds(500))
        }
        try await session.stop()
    }

    /// Checks that every job ended once.
    private func check(enqueued: Int, _ session: BenchSession) async throws {
        let recorded = try await session.number("SELECT sum(succeeded) FROM larder.progress")
        let jobs = try await session.number("SELECT count(DISTINCT job_id) FROM larder_data.job_history")
        let records = try await session.number("SELECT count(*) FROM larder_data.job_history")
        guard Int(recorded) == enqueued, Int(jobs) == enqueued, Int(records) == enqueued else {
            throw MeasuringError(
                "\(enqueued) jobs enqueued, \(Int(recorded)) counted, \(Int(jobs)) recorded by \(Int(records)) records")
        }
    }
}

extension Int {
    /// The least multiple of `unit` that is not below this number.
    fileprivate func roundedUp(to unit: Int) -> Int { (self + unit - 1) / unit * unit }
}
