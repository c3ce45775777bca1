import Foundation
import JobQueue
import TestSupport
import Testing
import Transcoder

@testable import Monitoring

/// The answers of a worker's probes, with reasons.
@Suite(.timeLimit(.minutes(5)))
struct WorkerHealthTests {
    private let start = ContinuousClock.now

    private var working: WorkerHealth {
        var health = WorkerHealth(lastAnswer: start)
        (health.isConnected, health.isRegistered, health.lastRound, health.sandbox) = (true, true, start, .full)
        return health
    }

    @Test func `a worker that has not reached the database is alive and not ready`() {
        var health = WorkerHealth(lastAnswer: start)
        #expect(health.reasonsNotReady(at: start + .seconds(600)) == ["connecting to the database"])
        #expect(health.reasonsNotAlive(at: start + .seconds(600)).isEmpty)
        health.isConnected = true
        #expect(health.reasonsNotReady(at: start) == ["not registered with the database"])
    }

    @Test func `a stalled claim loop ends readiness after 30 s and liveness after 180 s`() {
        var health = working
        health.lastAnswer = start + .seconds(1_000)
        for (seconds, isReady, isAlive) in [
            (30, true, true), (31, false, true), (180, false, true), (181, false, false),
        ] {
            let now = start + .seconds(seconds)
            #expect(health.reasonsNotReady(at: now) == (isReady ? [] : ["claim loop stalled"]))
            #expect(health.reasonsNotAlive(at: now).isEmpty == isAlive)
        }
        health.isStopping = true
        #expect(health.reasonsNotReady(at: start + .seconds(181)) == ["stopping"])
        #expect(health.reasonsNotAlive(at: start + .seconds(181)).isEmpty, "the grace time has its own limit")
    }

    @Test func `an incomplete sandbox ends readiness where it is required`() {
        var health = working
        health.sandbox = .withoutLandlock
        #expect(health.reasonsNotReady(at: start) == ["incomplete sandbox: no Landlock"])
        health.sandboxIsRequired = false
        #expect(health.reasonsNotReady(at: start).isEmpty)
    }

    @Test func `a database that does not answer ends readiness alone`() {
        var health = working
        health.lastRound = start + .seconds(16)
        #expect(health.reasonsNotReady(at: start + .seconds(15)).isEmpty)
        #expect(health.reasonsNotReady(at: start + .seconds(16)) == ["database: no answer"])
        health.transcoderFault = "/x is missing"
        #expect(health.reasonsNotReady(at: start) == ["no transcoder: /x is missing"])
        health.transcoderFault = nil
        health.localFault = "no network"
        #expect(health.reasonsNotReady(at: start) == ["local fault: no network"])
        #expect(health.reasonsNotAlive(at: start + .seconds(16)).isEmpty)
    }

    @Test func `a worker listens while the database is away and while its schema is too old`() async throws {
        let scene = try await Scene()
        let empty = try await TemporaryDatabase.make()
        var away = scene.larder(["work", "--listen", "127.0.0.1:0"])
        away.environment["LARDER_DATABASE_URL"] = "postgresql://127.0.0.1:\(scene.dead.port)/images"
        var old = scene.larder(["work", "--listen", "127.0.0.1:0"])
        old.environment["LARDER_DATABASE_URL"] = empty.url
        let (first, second) = (try away.start(), try old.start())
        let unreachable = try await ListeningWorker.port(of: first),
            unmigrated = try await ListeningWorker.port(of: second)
        for (port, reason) in [(unreachable, "\"database: "), (unmigrated, "\"schema too old: ")] {
            #expect(
                try await reached {
                    let page = try await ListeningWorker.get(port, "/readyz")
                    return page.status == 503 && page.text.contains("connecting to the database")
                        && page.text.contains(reason)
                })
            let alive = try await ListeningWorker.get(port, "/livez")
            #expect(alive.status == 200, "\(alive.text)")
            #expect(alive.text.hasPrefix("{\"alive\":true"), "\(alive.text)")
            #expect(try await ListeningWorker.get(port, "/metrics").value("larder_database_up") == 0)
        }
        #expect(try await scene.larder("migrate", "--database", empty.url).code == 0)
        #expect(
            try await reached {
                let page = try await ListeningWorker.get(unmigrated, "/readyz")
                return page.status == 200 && page.text.contains("\"sandbox\":\"full\"")
            })
        let metrics = try await ListeningWorker.get(unmigrated, "/metrics")
        #expect(metrics.value("larder_database_up") == 1)
        #expect(metrics.value("larder_sandbox_info{level=\"full\"}") == 1)
        for worker in [first, second] { worker.signal(SIGTERM) }
        #expect(await first.outcome().code == 0)
        #expect(await second.outcome().code == 0)
    }

    @Test func `a claim that is blocked ends readiness and not liveness`() async throws {
        let scene = try await Scene()
        let worker = try scene.larder(["work", "--listen", "127.0.0.1:0"]).start()
        let port = try await ListeningWorker.port(of: worker)
        #expect(try await reached { try await ListeningWorker.get(port, "/readyz").status == 200 })
        let holder = try scene.holding("LOCK TABLE larder_data.ready IN ACCESS EXCLUSIVE MODE")
        #expect(
            try await reached { try await ListeningWorker.get(port, "/readyz").text.contains("\"claim loop stalled\"") }
        )
        #expect(try await ListeningWorker.get(port, "/livez").status == 200)
        try await scene.release(holder)
        #expect(try await reached { try await ListeningWorker.get(port, "/readyz").status == 200 })
        worker.signal(SIGTERM)
        #expect(await worker.outcome().code == 0)
    }
}
