import TestSupport
import Testing

@testable import JobQueue

/// What `larder.claim_idle_v1` does besides claiming.
@Suite(.timeLimit(.minutes(5)))
struct IdleClaimTests {
    private static let all = Set(DueCall.allCases)

    /// Makes everything due but what comes a few times an hour, and asks what there is to do.
    private func look(
        _ worker: WorkerSession, _ fixture: QueueFixture, handling handled: Set<DueCall> = Self.all
    ) async throws -> Set<DueCall> {
        try await fixture.sql(
            """
            UPDATE larder_data.maintenance SET next_at = '-infinity'
            WHERE task <> ALL ('{partitions,purge,retention}')
            """)
        let answer = try await worker.claimIdle(upTo: 8, from: .queue("default"), handling: handled)
        #expect(answer.jobs.isEmpty)
        return answer.due
    }

    /// A migrated database whose first maintenance is done, and a worker.
    private func quiet(lease: Duration? = .seconds(3_600)) async throws -> (QueueFixture, WorkerSession) {
        let fixture = try await QueueFixture.make(lease: lease)
        try await fixture.queue.maintain(force: true)
        return (fixture, try await fixture.startWorker())
    }

    private func maintain(_ fixture: QueueFixture) async throws { try await fixture.queue.maintain(force: true) }

    @Test func `nothing is due in a quiet queue but the end of a drain, and its tasks count as run`() async throws {
        let (fixture, worker) = try await quiet()
        #expect(try await look(worker, fixture) == [.end])
        let late = "SELECT task FROM larder_data.current_task WHERE next_at = '-infinity'"
        #expect(try await fixture.sql(late).isEmpty)
        #expect(try await fixture.value("SELECT count(*) FROM larder.maintenance WHERE kind = 'look'") == "0")
        try await fixture.expectSound()
    }

    @Test func `jobs are claimed as by any claim, and a lost answer is given again`() async throws {
        let (fixture, worker) = try await quiet()
        try await fixture.enqueue(["http://a/1", "http://a/2"])
        // Claims may start behind jobs that were enqueued since the last maintenance.
        try await maintain(fixture)
        let claim = "SELECT job_id, due, lease_ms, url FROM larder.claim_idle_v1($1, 1, 1, again => $2 = 1)"
        let first = try await fixture.sql(claim, [.integer(worker.id), .integer(0)])
        #expect(first.count == 1 && first[0][0] != nil && first[0][1] == nil && first[0][2] == nil)
        #expect(try await fixture.sql(claim, [.integer(worker.id), .integer(1)]) == first)
        let other = try await fixture.startWorker("other")
        let jobs = try await other.claimIdle(upTo: 8, from: .queue("default"), handling: Self.all)
        #expect(Set(jobs.jobs.map(\.url) + [first[0][3] ?? ""]) == ["http://a/1", "http://a/2"])
        #expect(jobs.due.isEmpty && jobs.heartbeat == nil)
        try await fixture.expectSound()
    }

    @Test func `urgent maintenance is due for a scheduled job whose time has come`() async throws {
        let (fixture, worker) = try await quiet()
        try await fixture.enqueue(["http://a/1"]) { $0.start = .after(.seconds(3_600)) }
        try await maintain(fixture)
        #expect(try await look(worker, fixture) == [.end], "more than 30 s ahead")
        try await fixture.sql("UPDATE larder_data.scheduled SET run_at = clock_timestamp() + interval '20 s'")
        #expect(try await look(worker, fixture).isEmpty)
        try await fixture.sql("UPDATE larder_data.scheduled SET run_at = clock_timestamp() - interval '1 s'")
        #expect(try await look(worker, fixture) == [.urgent])
        try await fixture.queue.maintain(.urgent)
        let answer = try await worker.claimIdle(upTo: 8, from: .queue("default"), handling: Self.all)
        #expect(answer.jobs.map(\.url) == ["http://a/1"])
    }

    @Test func `urgent maintenance is due for the jobs of a worker whose lease has ended, and of one that stopped`()
        async throws
    {
        let (fixture, worker) = try await quiet()
        try await fixture.enqueue(["http://a/1"])
        try await maintain(fixture)
        let dead = try await fixture.startWorker("dead")
        #expect(try await dead.claim(upTo: 1).count == 1)
        #expect(try await look(worker, fixture).isEmpty)
        try await fixture.sql(
            "UPDATE larder_data.worker SET heartbeat_at = now() - interval '16 s', lease_ms = 1 WHERE id = $1",
            [.integer(dead.id)])
        #expect(try await look(worker, fixture) == [.urgent])
        try await fixture.queue.maintain(.urgent)
        #expect(try await fixture.value("SELECT count(*) FROM larder_data.ready") == "1")
        let job = try #require(
            try await worker.claimIdle(upTo: 1, from: .queue("default"), handling: Self.all).jobs.first)
        _ = try await worker.complete([Outcome(job.held, .succeeded)])
        try await maintain(fixture)
        #expect(try await look(worker, fixture) == [.end])
        try await fixture.startWorker("short").stop()
        #expect(try await look(worker, fixture) == [.urgent, .end])
        try await fixture.queue.maintain(.urgent)
        #expect(try await look(worker, fixture) == [.end])
    }

    @Test func `urgent maintenance is due for late jobs, joins, and holds with jobs behind them`() async throws {
        let (fixture, worker) = try await quiet()
        // A job below the position at which claims start, from a transaction that was open meanwhile.
        try await fixture.queue.pause(queue: "default")
        try await fixture.enqueue(["http://a/1"])
        try await fixture.queue.maintain(.routine, force: true)
        #expect(try await look(worker, fixture).contains(.urgent), "new_ready")
        try await maintain(fixture)
        #expect(try await look(worker, fixture).isDisjoint(with: [.urgent]))
        // A join.
        _ = try await fixture.queue.enqueue(EnqueueRequest(urls: ["http://a/1"], batch: "second"))
        #expect(try await look(worker, fixture).contains(.urgent), "job_join")
        try await maintain(fixture)
        #expect(try await look(worker, fixture).isDisjoint(with: [.urgent]))
        // A hold.
        try await fixture.queue.holdOrigin("http://a", for: .seconds(3_600))
        #expect(try await look(worker, fixture).contains(.urgent), "held")
        try await maintain(fixture)
        #expect(try await look(worker, fixture).isDisjoint(with: [.urgent]))
    }

    @Test func `routine maintenance is due for counts, a batch that has ended, and one that is cancelled or deleted`()
        async throws
    {
        let (fixture, worker) = try await quiet()
        try await fixture.enqueue(["nonsense"], batch: "spring")
        #expect(try await look(worker, fixture) == [.routine, .end], "counts")
        try await maintain(fixture)
        #expect(try await look(worker, fixture) == [.end])
        try await fixture.queue.seal(.name("spring"))
        #expect(try await look(worker, fixture) == [.routine, .end], "finish")
        try await maintain(fixture)
        #expect(try await look(worker, fixture) == [.end])
        try await fixture.queue.delete(.name("spring"))
        #expect(try await look(worker, fixture) == [.routine, .end], "deleted")
        try await maintain(fixture)
        try await fixture.enqueue(["http://a/1"], batch: "summer") { $0.start = .after(.seconds(3_600)) }
        try await fixture.queue.seal(.name("summer"))
        try await maintain(fixture)
        #expect(try await look(worker, fixture) == [.end], "sealed, and not over")
        try await fixture.queue.cancel(.name("summer"))
        try await fixture.sql("SELECT larder_data.maintenance_counts()")
        #expect(try await look(worker, fixture) == [.routine, .end], "cancelled")
        try await maintain(fixture)
        #expect(try await look(worker, fixture) == [.end])
        try await fixture.expectSound()
    }

    @Test func `few paused jobs are examined by the look, and many by maintenance`() async throws {
        let (fixture, worker) = try await quiet()
        let urls = (1...600).map { "http://a/\($0)" }
        try await fixture.enqueue(Array(urls.prefix(3)), batch: "few")
        try await fixture.queue.pause(.name("few"))
        #expect(try await worker.claim(upTo: 9).isEmpty)
        try await maintain(fixture)
        #expect(try await look(worker, fixture) == [.end])
        // As after a claim that suspended them while the batch was resumed.
        try await fixture.sql("UPDATE larder_data.batch SET paused_at = NULL")
        #expect(try await look(worker, fixture).isDisjoint(with: [.routine]))
        #expect(try await fixture.value("SELECT count(*) FROM larder_data.ready") == "3")
        try await fixture.enqueue(urls, batch: "many")
        try await fixture.queue.pause(.name("few"))
        try await fixture.queue.pause(.name("many"))
        _ = try await worker.claim(upTo: 1_000)
        try await maintain(fixture)
        #expect(try await look(worker, fixture).contains(.routine))
        try await fixture.expectSound()
    }

    @Test func `a task that failed is due until it has succeeded`() async throws {
        let (fixture, worker) = try await quiet()
        try await fixture.sql(
            "UPDATE larder_data.maintenance SET failed_at = now(), last_error = 'x' WHERE task = 'counts'")
        #expect(try await look(worker, fixture) == [.routine, .end])
        try await maintain(fixture)
        #expect(try await look(worker, fixture) == [.end])
        // One that fails while it is looked for does not fail the claim.
        try await fixture.sql("ALTER FUNCTION larder_data.maintenance_claims() RENAME TO gone")
        #expect(try await look(worker, fixture) == [.urgent, .end])
    }

    @Test func `a schedule, a webhook and the end of holds are due when they are`() async throws {
        let (fixture, worker) = try await quiet()
        _ = try await fixture.queue.setSchedule(
            "s", cron: "@hourly", timeZone: "UTC", query: nil, request: EnqueueRequest(urls: ["http://a/1"]))
        #expect(try await look(worker, fixture) == [.end])
        try await fixture.sql("UPDATE larder_data.schedule SET next_at = now() - interval '1 s'")
        #expect(try await look(worker, fixture) == [.schedule], "a drain waits for it")
        try await fixture.queue.pauseSchedule("s")

        let batch = try await fixture.queue.openBatch(name: "spring")
        try await fixture.queue.setWebhook(of: .id(batch), to: "https://hooks.example.com/")
        try await fixture.queue.seal(.id(batch))
        #expect(try await look(worker, fixture).isDisjoint(with: [.webhook]))
        try await maintain(fixture)
        #expect(try await look(worker, fixture) == [.webhook, .end])
        #expect(try await look(worker, fixture, handling: [.end]) == [.end], "only what the worker handles")
        #expect(try await fixture.queue.takeWebhook() != nil)
        #expect(try await look(worker, fixture) == [.end])

        try await fixture.queue.holdOrigin("http://a", for: .seconds(3_600))
        #expect(try await look(worker, fixture) == [.end])
        try await fixture.sql("UPDATE larder_data.origin_hold SET until = now() - interval '2 s'")
        #expect(try await look(worker, fixture) == [.origins, .end])
        _ = try await fixture.queue.originHolds()
        #expect(try await look(worker, fixture) == [.end])
    }

    @Test func `the holds are due for each idle worker in the first minute of a breaker's`() async throws {
        let (fixture, worker) = try await quiet()
        let other = try await fixture.startWorker("other")
        try await fixture.sql(
            """
            SELECT larder.origin_report_v1(ARRAY['http://a'], ARRAY['breaker'], ARRAY[60000], worker => \(worker.id))
            """)
        #expect(try await fixture.value("SELECT reason FROM larder_data.origin_hold") == "breaker")
        for _ in 0..<2 {
            #expect(try await look(worker, fixture).contains(.origins))
            #expect(try await look(other, fixture).contains(.origins))
        }
        try await fixture.sql("UPDATE larder_data.origin_hold SET since = now() - interval '61 s'")
        #expect(try await look(worker, fixture).contains(.origins) == false)
    }

    @Test func `the end of an outage is left to maintenance, also when no lease has ended yet`() async throws {
        let (fixture, worker) = try await quiet()
        try await fixture.sql(
            "UPDATE larder_data.maintenance SET next_at = '-infinity' WHERE task IN ('rescue', 'look_urgent')")
        #expect(try await worker.claimIdle(upTo: 1, from: .queue("default"), handling: [.urgent]).due.isEmpty)
        try await fixture.sql("UPDATE larder_data.maintenance SET next_at = '-infinity' WHERE task = 'look_urgent'")
        try await fixture.sql(
            "UPDATE larder_data.maintenance SET next_at = now() - interval '1 h' WHERE task = 'rescue'")
        #expect(try await worker.claimIdle(upTo: 1, from: .queue("default"), handling: [.urgent]).due == [.urgent])
        try await maintain(fixture)
        #expect(try await fixture.value("SELECT away_until - away_from > '59 min' FROM larder_data.server") == "t")
    }

    @Test func `statements for the owner are due for a login that may act as the owner`() async throws {
        let (fixture, worker) = try await quiet()
        try await fixture.sql(
            """
            CREATE TABLE larder_data.job_attempt_20200101 (LIKE larder_data.job_attempt INCLUDING ALL)
            """)
        #expect(try await look(worker, fixture) == [.owner, .end])
        let connection = fixture.otherConnection()
        let claim = "SELECT due FROM larder.claim_idle_v1(\(worker.id), 77, 1, handles => '{owner}')"
        try await fixture.sql("UPDATE larder_data.maintenance SET next_at = '-infinity' WHERE task = 'look_owner'")
        try await withTransaction(connection) {
            _ = try await $0.rows("SET LOCAL ROLE larder_worker")
            #expect(try await $0.rows(claim) == [["{}"]])
        }
        #expect(try await connection.rows(claim) == [["{owner}"]])
        try await fixture.queue.maintain(.owner)
        #expect(try await look(worker, fixture) == [.end])
    }

    private func withTransaction(
        _ connection: Connection, _ body: (Connection) async throws -> Void
    ) async throws {
        _ = try await connection.rows("BEGIN")
        try await body(connection)
        _ = try await connection.rows("COMMIT")
    }

    @Test func `of several idle workers one is told what is due`() async throws {
        let (fixture, _) = try await quiet()
        var workers: [WorkerSession] = []
        for number in 1...3 { workers.append(try await fixture.startWorker("worker \(number)")) }
        _ = try await fixture.queue.setSchedule(
            "s", cron: "@hourly", timeZone: "UTC", query: nil, request: EnqueueRequest(urls: ["http://a/1"]))
        try await fixture.enqueue(["nonsense"])
        try await fixture.sql("UPDATE larder_data.schedule SET next_at = now() - interval '1 s'")
        // An hour between two looks, so that the machine may stand still.
        try await fixture.sql("UPDATE larder_data.task SET every = '1 h' WHERE kind = 'look'")
        try await fixture.sql("UPDATE larder_data.maintenance SET next_at = '-infinity'")
        var told: [DueCall] = []
        for worker in workers {
            told += try await worker.claimIdle(
                upTo: 8, from: .queue("default"), handling: [.urgent, .routine, .schedule]
            ).due
        }
        #expect(told.filter { $0 == .schedule }.count == 1 && told.filter { $0 == .routine }.count == 1)
    }

    @Test func `the lease is extended when the last heartbeat is 2 s old, and not when it has expired`() async throws {
        let (fixture, worker) = try await quiet(lease: nil)
        func age(_ interval: String) async throws {
            try await fixture.sql(
                "UPDATE larder_data.worker SET heartbeat_at = clock_timestamp() - $1::interval", [.text(interval)])
        }
        func claim() async throws -> IdleClaim {
            try await worker.claimIdle(upTo: 8, from: .queue("default"), handling: [])
        }
        // Above the lease and the 2 s, so that the machine may stand still: in the future, as after a change of the clock.
        try await age("-1 h")
        #expect(try await claim().heartbeat?.lease == .seconds(15))
        #expect(try await fixture.value("SELECT heartbeat_at <= clock_timestamp() FROM larder_data.worker") == "t")
        try await fixture.sql("UPDATE larder_data.settings SET lease_ms = 3600000")
        try await age("3 s")
        let heartbeat = try #require(try await claim().heartbeat)
        #expect(heartbeat.lease == .seconds(3_600) && !heartbeat.leaseExpired && heartbeat.cancelled.isEmpty)
        // The time in which the server was not up does not count, and it may have begun just now.
        try await fixture.sql(
            "UPDATE larder_data.worker SET heartbeat_at = clock_timestamp() - interval '1 h', lease_ms = 1")
        await #expect { try await claim() } throws: { ($0 as? QueueError)?.code == .workerLost }
    }

    @Test func `the end of a batch is due when it is finished, or nothing of it may run`() async throws {
        let (fixture, worker) = try await quiet()
        try await fixture.enqueue(["http://a/1"], batch: "mine") { $0.start = .after(.seconds(3_600)) }
        let batch = try await fixture.queue.progress(of: .name("mine")).id
        func isDue() async throws -> Bool {
            let answer = try await worker.claimIdle(upTo: 8, from: .batch(batch), handling: [.end])
            return answer.due.contains(.end)
        }
        #expect(try await !isDue(), "scheduled")
        try await fixture.queue.pause(.name("mine"))
        try await fixture.sql("UPDATE larder_data.scheduled SET run_at = now() - interval '1 s'")
        try await maintain(fixture)
        _ = try await worker.claim(upTo: 1)
        #expect(try await isDue(), "paused")
        try await fixture.queue.resume(.name("mine"))
        let job = try #require(try await worker.claim(upTo: 1).first)
        #expect(try await !isDue(), "running")
        _ = try await worker.complete([Outcome(job.held, .succeeded)])
        #expect(try await isDue(), "no open item")
    }

    @Test func `an unknown kind of work is refused`() async throws {
        let (fixture, worker) = try await quiet()
        await #expect {
            try await fixture.sql(
                "SELECT due FROM larder.claim_idle_v1($1, 1, 1, handles => '{urgent,tea}')", [.integer(worker.id)])
        } throws: {
            ($0 as? QueueError)?.sqlState == "22023"
        }
    }
}
