import Concurrency
import FoundationEssentials
import Glibc
import JobQueue

/// The running parts of a run: origin, proxies, pooler, workers and producers.
struct ChaosScene: Sendable {
    let possible: [FaultKind]
    let fleet: ChaosFleet
    let sampler: ChaosSampler
    let producers: [ChaosProducer]
    let injector: ChaosInjector
    let audit: ChaosAudit
    private let origin: ChaosOrigin
    private let place: ChaosPlace
    private let ledger: ChaosLedger
    private let queues: [PostgresJobQueue]
    private let last: ChaosLaunch

    /// Origins of the load, each behind its own proxy.
    private static let originCount = 4

    init(
        _ options: ChaosRun.Options, _ program: String, _ place: ChaosPlace, _ database: ChaosDatabase,
        _ ledger: ChaosLedger
    ) async throws {
        let faults = PossibleFaults(place: place, database: database, oldBinary: options.oldBinary)
        for kind in options.kinds { if let reason = faults.reasonAgainst(kind) { ledger.skip(kind, reason) } }
        let possible = options.kinds.filter { faults.reasonAgainst($0) == nil }
        self.possible = possible
        self.place = place
        self.ledger = ledger

        let origin = try ChaosOrigin()
        self.origin = origin
        let originProxies = try (0..<Self.originCount).map {
            try FaultProxy(listening: .port(host: "127.0.0.\($0 + 11)", number: 0), to: origin.place)
        }
        let databaseProxy = try FaultProxy(listening: database.proxyPlace(in: place.sockets), to: database.server)
        let proxied = database.url(through: databaseProxy.place)
        var pooled = proxied
        var pooler: PrivatePooler?
        if possible.contains(.poolerRestart) {
            let made = try PrivatePooler(in: place.sockets, server: place.sockets)
            try await made.start()
            pooled = database.url(through: made.place)
            pooler = made
        }

        // Two versions: the older program makes the schema and works first, the newer one migrates.
        if possible.contains(.oldBinary), let old = options.oldBinary {
            try await ChaosProgram.run(old, ["migrate", "--database", database.url])
        }
        let fleet = ChaosFleet(home: place.home, logs: place.logs, ledger: ledger)
        self.fleet = fleet
        func launch(_ name: String, _ program: String, _ url: String) -> ChaosLaunch {
            let ports = originProxies.flatMap { proxy -> [String] in
                guard case .port(_, let number) = proxy.place else { return [] }
                return ["--allow-port", "\(number)"]
            }
            let words = [
                "work", "--database", url, "--cache", place.cache, "--slots", "8", "--transcoders", "1", "--grace",
                "5s",
                "--allow-address", "127.0.0.0/8", "--breaker-open", "2s", "--log-format", "json",
            ]
            return ChaosLaunch(name: name, program: program, arguments: words + ports)
        }
        let run = "\(options.seed)-\(UInt32.random(in: 0...UInt32.max))"
        let load = ChaosLoad(run: run, seed: options.seed, origins: originProxies.map(\.place))
        if possible.contains(.oldBinary), let old = options.oldBinary {
            try await fleet.add(launch("old", old, proxied))
            try await load.begin(database.url)
        }
        var configuration = PostgresJobQueue.Configuration(databaseURL: database.url)
        // The audit of a long run reads all its history.
        configuration.statementTimeout = .seconds(600)
        try await Migrator(configuration).migrate()
        let queue = PostgresJobQueue(configuration)
        _ = try await queue.producer.setPipeline(name: ChaosLoad.pipeline, spec: ChaosLoad.spec)

        for number in 0..<options.workers {
            var worker = launch("\(number)", program, number % 2 == 1 ? pooled : proxied)
            if number == 0, possible.contains(.clockStep), let library = SteppedClock.library {
                try await place.write("+0\n", to: place.clockFile)
                worker.clock = (library, place.clockFile)
            }
            try await fleet.add(worker)
        }
        let sampler = ChaosSampler(url: database.url, prefix: "chaos-\(run)-", ledger: ledger)
        self.sampler = sampler
        let producing = (0..<2).map { _ in PostgresJobQueue(.init(databaseURL: proxied)) }
        queues = producing + [queue]
        producers = producing.enumerated().map { number, queue in
            ChaosProducer(
                load: load, queue: queue, ledger: ledger, openItems: { sampler.openItems.withLock { $0 } },
                backlog: options.workers * 60, joins: number > 0)
        }
        var isolated = launch("isolated", program, proxied)
        isolated.hasNetwork = false
        last = launch("last", program, database.url)
        injector = ChaosInjector(
            fleet: fleet, database: database, place: place, databaseProxy: databaseProxy, originProxies: originProxies,
            pooler: pooler, load: load, ledger: ledger, isolated: isolated,
            old: options.oldBinary.map { launch("old", $0, proxied) })
        audit = ChaosAudit(
            database: database, queue: queue, place: place, load: load, ledger: ledger, prefix: "chaos-\(run)-")
    }

    /// Ends the workers, and lets another one open the cache, which removes temporary files of dead ones.
    func finalDrain() async throws {
        await fleet.end()
        let status = try await ChaosProgram.status(last.program, last.arguments + ["--drain", "--max-runtime", "60s"])
        if status != .exited(0) { ledger.violated("the last worker, which drains the queue, ended with \(status)") }
        for left in await fleet.leftovers() { ledger.violated("the process \(left) of a worker is left") }
    }

    /// Ends everything that still runs, also after an error.
    func end() async {
        await fleet.end()
        for proxy in injector.originProxies + [injector.databaseProxy] { proxy.stop() }
        await injector.pooler?.stop()
        origin.stop()
        await sampler.close()
        for queue in queues { await queue.close() }
    }
}
