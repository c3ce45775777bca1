import ImageModel
import TestSupport
import Testing

@testable import JobQueue

/// An old snapshot keeps every row that has passed through the queue. What runs often starts behind these rows.
///
/// The transactions that stay open are READ COMMITTED: serializable ones fail beside others that read their rows.
@Suite(.timeLimit(.minutes(5)))
struct HeldSnapshotTests {
    private static let jobs = 2_000

    /// How many entries of an index a statement reads, those of dead rows included. At the level of a worker's calls:
    /// above it claims do not move their start, and rescue does not mark the workers that hold no job.
    private func entries(
        of index: String, readBy statement: String, _ parameters: [Parameter] = [], in fixture: QueueFixture
    ) async throws -> Int {
        let count = "SELECT pg_stat_get_xact_tuples_returned('larder_data.\(index)'::regclass)"
        try await fixture.sql("BEGIN ISOLATION LEVEL READ COMMITTED")
        let before = try #require(Int(try await fixture.value(count) ?? ""))
        try await fixture.sql(statement, parameters)
        let after = try #require(Int(try await fixture.value(count) ?? ""))
        try await fixture.sql("COMMIT")
        return after - before
    }

    /// A queue through which the jobs have passed since a snapshot that is still open, and its worker.
    private func afterManyJobs(_ body: (QueueFixture, WorkerSession) async throws -> Void) async throws {
        let fixture = try await QueueFixture.make()
        let holder = fixture.otherConnection()
        _ = try await holder.rows("BEGIN ISOLATION LEVEL REPEATABLE READ")
        _ = try await holder.rows("SELECT count(*) FROM pg_class")
        let worker = try await fixture.startWorker()
        let urls = (0..<Self.jobs).map { "http://host/\($0)" }
        _ = try await fixture.queue.enqueue(EnqueueRequest(urls: urls, batch: "a"))
        for _ in 0..<10 {
            let jobs = try await worker.claim(upTo: Self.jobs / 10)
            _ = try await worker.complete(jobs.map { Outcome($0.held, .succeeded) })
            // Entries of a transaction each.
            for _ in 0..<20 {
                try await fixture.sql(
                    "INSERT INTO larder_data.batch_delta (batch_id, retries) SELECT id, 1 FROM larder_data.batch")
            }
            try await fixture.queue.maintain(force: true)
        }
        try await body(fixture, worker)
        _ = try await holder.rows("COMMIT")
        #expect(try await fixture.sql("SELECT * FROM larder.check()").isEmpty)
    }

    @Test func `heartbeats and the search for lost jobs pass over the claims that have ended`() async throws {
        try await afterManyJobs { fixture, worker in
            let jobs = try await worker.claim(upTo: 5)
            #expect(jobs.isEmpty)
            _ = try await worker.heartbeat()
            let all = try await entries(
                of: "running_pkey", readBy: "SELECT larder.heartbeat_v1($1)", [.integer(worker.id)], in: fixture)
            #expect(all == Self.jobs, "without the number of its oldest claim the worker's dead rows are read")
            _ = try await worker.heartbeat()
            let oldest = try #require(
                try await fixture.value(
                    "SELECT oldest_claim FROM larder_data.worker WHERE id = $1", [.integer(worker.id)]))
            let heartbeat = try await entries(
                of: "running_pkey", readBy: "SELECT larder.heartbeat_v1($1, \(oldest))", [.integer(worker.id)],
                in: fixture)
            #expect(heartbeat == 0)
            let rescue = "SELECT larder_data.maintenance_rescue()"
            #expect(try await entries(of: "running_pkey", readBy: rescue, in: fixture) == 0)
            try await worker.stop()
            #expect(try await entries(of: "running_pkey", readBy: rescue, in: fixture) == Self.jobs)
            #expect(try await entries(of: "running_pkey", readBy: rescue, in: fixture) == 0, "a dead worker, once")
        }
    }

    @Test func `the search for the start of claims passes over the jobs before the last start`() async throws {
        try await afterManyJobs { fixture, worker in
            let claims = "SELECT larder_data.maintenance_claims()"
            try await fixture.sql(claims)
            for index in ["ready_pkey", "ready_turn"] {
                #expect(try await entries(of: index, readBy: claims, in: fixture) == 0)
            }
            _ = try await fixture.queue.enqueue(EnqueueRequest(urls: ["http://host/new"], batch: "b"))
            try await fixture.sql(claims)
            #expect(try await worker.claim(upTo: 5).map(\.url) == ["http://host/new"])
        }
    }

    @Test func `every kind of claim passes over the jobs before its start`() async throws {
        try await afterManyJobs { fixture, worker in
            // Statistics of an almost empty table: no choice of index may depend on them.
            let urls = (0..<50).map { "http://host/last \($0)" }
            _ = try await fixture.queue.enqueue(EnqueueRequest(urls: urls, batch: "b"))
            try await fixture.sql("VACUUM ANALYZE larder_data.ready")
            try await fixture.sql("SELECT larder_data.maintenance_claims()")
            for number in 100..<120 {
                let claim = "SELECT * FROM larder.claim_v1(\(worker.id), \(number), 2)"
                for index in ["ready_pkey", "ready_turn"] {
                    let read = try await entries(of: index, readBy: claim, in: fixture)
                    #expect(read < 200, "claim \(number) read \(read) entries of \(index)")
                }
            }
        }
    }

    @Test func `claims move their start over the jobs that were claimed since it was last moved`() async throws {
        let fixture = try await QueueFixture.make()
        // A new origin would make the second enqueue wait for the first.
        _ = try await fixture.queue.enqueue(EnqueueRequest(urls: ["http://host/0"], batch: "a"))
        let holder = fixture.otherConnection()
        _ = try await holder.rows("BEGIN ISOLATION LEVEL READ COMMITTED")
        _ = try await holder.rows("SELECT larder.enqueue_many(ARRAY['http://host/late'], batch => 'late')")
        let urls = (1..<5_000).map { "http://host/\($0)" }
        _ = try await fixture.queue.enqueue(EnqueueRequest(urls: urls, batch: "a"))
        let worker = try await fixture.startWorker()
        try await fixture.sql("SELECT larder_data.maintenance_claims()")
        // However slow this machine is.
        try await fixture.sql("UPDATE larder_data.claim_cursor SET updated_at = 'infinity'")
        for number in 1...220 {
            let claim = "SELECT * FROM larder.claim_v1(\(worker.id), \(number), 20)"
            let index = ["ready_pkey", "ready_turn"][number / 2 % 2]
            let read = try await entries(of: index, readBy: claim, in: fixture)
            #expect(read < 1_000, "claim \(number) read \(read) entries of \(index)")
        }
        _ = try await holder.rows("COMMIT")
        try await fixture.sql("SELECT larder_data.maintenance_claims()")
        #expect(try await worker.claim(upTo: 1).map(\.url) == ["http://host/late"])
        try await fixture.expectSound()
    }

    @Test func `jobs of a transaction that commits late are found behind later ones that were claimed`() async throws {
        let fixture = try await QueueFixture.make()
        // A new origin would make the second enqueue wait for the first.
        _ = try await fixture.queue.enqueue(EnqueueRequest(urls: ["http://host/0"], batch: "b"))
        let late = fixture.otherConnection()
        _ = try await late.rows("BEGIN ISOLATION LEVEL READ COMMITTED")
        _ = try await late.rows("SELECT larder.enqueue_many(ARRAY['http://host/late'], batch => 'a')")
        _ = try await fixture.queue.enqueue(EnqueueRequest(urls: ["http://host/1", "http://host/2"], batch: "b"))
        let worker = try await fixture.startWorker()
        #expect(try await worker.claim(upTo: 5).count == 3)
        let claims = "SELECT larder_data.maintenance_claims()"
        try await fixture.sql(claims)
        _ = try await late.rows("COMMIT")
        // One of them goes by number, the other by turn.
        #expect(try await worker.claim(upTo: 2).isEmpty)
        #expect(try await worker.claim(upTo: 2).isEmpty)
        try await fixture.sql(claims)
        #expect(try await worker.claim(upTo: 2).map(\.url) == ["http://host/late"])
        #expect(try await fixture.value("SELECT count(*) FROM larder_data.new_ready") == "0")
    }

    @Test func `jobs made ready while the cursor is locked are found after the lock`() async throws {
        let fixture = try await QueueFixture.make()
        _ = try await fixture.queue.enqueue(EnqueueRequest(urls: ["http://host/1", "http://host/2"], batch: "b"))
        let worker = try await fixture.startWorker()
        let jobs = try await worker.claim(upTo: 5)
        let claims = "SELECT larder_data.maintenance_claims()"
        try await fixture.sql(claims)
        let locker = fixture.otherConnection()
        _ = try await locker.rows("BEGIN ISOLATION LEVEL READ COMMITTED")
        _ = try await locker.rows("SELECT FROM larder_data.claim_cursor FOR UPDATE")
        try await worker.release(jobs.map(\.held))
        try await fixture.sql(claims)
        let isFound = "SELECT positions[5] < (SELECT min(job_id) FROM larder_data.ready) FROM larder_data.claim_cursor"
        #expect(try await fixture.value(isFound) == "f")
        _ = try await locker.rows("COMMIT")
        try await fixture.sql(claims)
        #expect(try await fixture.value(isFound) == "t")
    }

    @Test func `a joined job that becomes ready at a higher priority is found at once by the next run`() async throws {
        let fixture = try await QueueFixture.make()
        // Some claim would otherwise start at the lower priority.
        try await fixture.queue.setQueue("default", lowPriorityEvery: 0)
        _ = try await fixture.queue.enqueue(EnqueueRequest(urls: ["http://host/1"], batch: "b"))
        try await fixture.sql("SELECT FROM larder.enqueue_many(ARRAY['http://host/2'], batch => 'b', priority => 0)")
        let worker = try await fixture.startWorker()
        #expect(try await worker.claim(upTo: 1).map(\.url) == ["http://host/2"])
        let claims = "SELECT larder_data.maintenance_claims()"
        try await fixture.sql(claims)
        try await fixture.sql("SELECT FROM larder.enqueue_many(ARRAY['http://host/1'], batch => 'c', priority => 0)")
        try await fixture.queue.maintain(force: true)
        try await fixture.sql(claims)
        #expect(try await fixture.value("SELECT priority FROM larder_data.ready") == "0")
        let place = "SELECT positions[1] < (SELECT job_id FROM larder_data.ready) FROM larder_data.claim_cursor"
        #expect(try await fixture.value(place) == "t")
    }

    @Test func `counts pass over the entries that are added up, and progress likewise`() async throws {
        try await afterManyJobs { fixture, _ in
            let counts = "SELECT larder_data.maintenance_counts()"
            let first = "SELECT xid FROM larder_data.first_entry"
            let running = try await fixture.value("SELECT pg_snapshot_xmin(pg_current_snapshot())")
            try await fixture.sql(counts)
            #expect(try await fixture.value("SELECT ($1)::xid8 <= (\(first))", [.text(running)]) == "t")
            // Transactions of other tests run in the same server.
            let move = "UPDATE larder_data.first_entry SET xid = pg_snapshot_xmax(pg_current_snapshot())"
            try await fixture.sql(move)
            #expect(try await entries(of: "batch_delta_xid", readBy: counts, in: fixture) == 0)
            try await fixture.sql(move)
            try await fixture.sql(
                "INSERT INTO larder_data.batch_delta (batch_id, retries) SELECT id, 1 FROM larder_data.batch")
            let progress = "SELECT retries FROM larder.progress WHERE batch_id = 1"
            #expect(try await fixture.value(progress) == "201")
            #expect(try await entries(of: "batch_delta_batch", readBy: progress, in: fixture) == 1)
            #expect(try await entries(of: "batch_delta_xid", readBy: counts, in: fixture) <= 2)
            #expect(try await fixture.value(progress) == "201")
        }
    }

    @Test func `counts add up the entries of a transaction that was open during earlier runs`() async throws {
        let fixture = try await QueueFixture.make()
        _ = try await fixture.queue.enqueue(EnqueueRequest(urls: ["http://host/1"], batch: "a"))
        let late = fixture.otherConnection()
        let insert = "INSERT INTO larder_data.batch_delta (batch_id, retries) SELECT id, 1 FROM larder_data.batch"
        _ = try await late.rows("BEGIN ISOLATION LEVEL READ COMMITTED")
        _ = try await late.rows(insert)
        for _ in 0..<3 {
            try await fixture.sql(insert)
            try await fixture.queue.maintain(force: true)
        }
        let progress = "SELECT retries FROM larder.progress WHERE batch_id = 1"
        #expect(try await fixture.value(progress) == "3")
        _ = try await late.rows("COMMIT")
        #expect(try await fixture.value(progress) == "4")
        try await fixture.queue.maintain(force: true)
        #expect(try await fixture.value(progress) == "4")
        #expect(try await fixture.value("SELECT count(*) FROM larder_data.batch_delta") == "0")
    }

    @Test func `after a restore into a new server all entries are read`() async throws {
        let fixture = try await QueueFixture.make()
        _ = try await fixture.queue.enqueue(EnqueueRequest(urls: ["http://host/1"], batch: "a"))
        try await fixture.sql("UPDATE larder_data.first_entry SET xid = '4611686018427387904'")
        #expect(try await fixture.value("SELECT total FROM larder.progress") == "1")
        try await fixture.queue.maintain(force: true)
        #expect(try await fixture.value("SELECT count(*) FROM larder_data.batch_delta") == "0")
        #expect(try await fixture.value("SELECT total FROM larder.progress") == "1")
    }

    @Test func `a completion beside a cancelled batch reads no joins but those of its jobs`() async throws {
        let fixture = try await QueueFixture.make()
        let urls = (0..<500).map { "http://host/\($0)" }
        _ = try await fixture.queue.enqueue(EnqueueRequest(urls: urls, batch: "a"))
        try await fixture.sql("SELECT larder.batch_open('late')")
        let late = fixture.otherConnection()
        _ = try await late.rows("BEGIN ISOLATION LEVEL READ COMMITTED")
        let join = "SELECT larder.enqueue_many(ARRAY(SELECT url FROM larder_data.job), batch => 'late')"
        _ = try await late.rows(join)
        try await fixture.sql("SELECT larder.batch_cancel('late')")
        let worker = try await fixture.startWorker()
        let complete = "SELECT larder.complete_v1(\(worker.id), $1::json)"
        for index in ["job_join_batch", "job_join_pkey"] {
            let jobs = try await worker.claim(upTo: 20)
            let results = "[" + jobs.map { $0.held.succeeded() }.joined(separator: ",") + "]"
            let read = try await entries(of: index, readBy: complete, [.text(results)], in: fixture)
            #expect(read <= (index == "job_join_batch" ? 0 : 100), "\(read) entries of \(index)")
        }
        _ = try await late.rows("COMMIT")
        try await fixture.queue.maintain(force: true)
        try await fixture.queue.maintain(force: true)
        let ended = "SELECT cancelled + succeeded + failed FROM larder.progress WHERE batch = 'late'"
        #expect(try await fixture.value(ended) == "500")
        try await fixture.expectSound()
    }

    @Test func `rows that are updated every second cost the same after a thousand updates as before`() async throws {
        let fixture = try await QueueFixture.make()
        let holder = fixture.otherConnection()
        let worker = try await fixture.startWorker()
        _ = try await fixture.queue.enqueue(
            EnqueueRequest(urls: (0..<500).map { "http://host/\($0)" }, batch: "a"))
        try await fixture.queue.maintain(force: true)
        _ = try await holder.rows("BEGIN ISOLATION LEVEL REPEATABLE READ")
        _ = try await holder.rows("SELECT count(*) FROM pg_class")
        try await fixture.sql("SET synchronous_commit = off")
        func age(_ rounds: Int) async throws {
            try await fixture.sql(
                """
                DO $$ BEGIN
                    FOR i IN 1..\(rounds) LOOP
                        PERFORM larder.heartbeat_v1(\(worker.id), 1);
                        PERFORM larder.maintain(true, 'urgent');
                        COMMIT;
                        PERFORM larder_data.maintenance_counts(), larder_data.run_again('counts', true),
                            larder_data.run_again('finish', true);
                        COMMIT;
                    END LOOP;
                END $$
                """)
            // The statistics of one row, in indexes of many: no choice of scan may depend on them.
            try await fixture.sql(
                """
                VACUUM ANALYZE larder_data.worker, larder_data.maintenance, larder_data.claim_cursor,
                    larder_data.first_entry
                """)
        }
        func costs() async throws -> [String: Int] {
            var found: [String: Int] = [:]
            for statement in [
                "SELECT count(*) FROM larder.claim_v1(\(worker.id), 7, 1)",
                "SELECT count(*) FROM larder.heartbeat_v1(\(worker.id), 1)",
                "SELECT larder_data.maintenance_rescue()", "SELECT larder_data.maintenance_claims()",
                "SELECT larder_data.maintenance_counts()", "SELECT larder_data.find_cache(NULL)",
                "SELECT count(*) FROM larder.maintain(true, 'urgent')",
                "SELECT count(*) FROM larder.maintain(true, 'routine')",
                "SELECT count(*) FROM larder.complete_v1(\(worker.id), '[]')",
                "SELECT count(*) FROM larder.enqueue_many(ARRAY['http://host/1'], batch => 'a')",
                "SELECT total FROM larder.progress WHERE batch = 'a'",
            ] {
                found[statement] = try await fixture.pages(readBy: statement)
            }
            // The least of three: its first run in a second also records the second.
            let promote = "SELECT larder_data.maintenance_promote()"
            var runs: [Int] = []
            for _ in 0..<3 { runs.append(try await fixture.pages(readBy: promote)) }
            found[promote] = runs.min()
            return found
        }
        try await age(100)
        let young = try await costs()
        try await age(1_000)
        for (statement, pages) in try await costs() {
            // The indexes may be one level higher.
            let few = try #require(young[statement])
            #expect(pages <= few * 3 / 2 + 2, "\(statement) read \(few) pages, then \(pages)")
        }
        _ = try await holder.rows("COMMIT")
    }

    @Test func `jobs that become due are found behind those that did, and late ones within a minute`() async throws {
        let fixture = try await QueueFixture.make()
        let holder = fixture.otherConnection()
        _ = try await holder.rows("BEGIN ISOLATION LEVEL REPEATABLE READ")
        _ = try await holder.rows("SELECT count(*) FROM pg_class")
        let urls = (0..<Self.jobs).map { "http://host/\($0)" }
        _ = try await fixture.queue.enqueue(EnqueueRequest(urls: urls, batch: "a"))
        func schedule(_ age: String) async throws {
            try await fixture.sql(
                """
                WITH moved AS (DELETE FROM larder_data.ready RETURNING job_id)
                INSERT INTO larder_data.scheduled SELECT now() - interval '\(age)', job_id FROM moved
                """)
        }
        func runAt(_ second: String) async throws {
            try await fixture.sql(
                "UPDATE larder_data.maintenance SET cursor = extract(epoch FROM now()) - \(second) WHERE task = 'promote'"
            )
        }
        let promote = "SELECT larder_data.maintenance_promote()"
        try await schedule("1 hour")
        try await runAt("60")
        #expect(try await entries(of: "scheduled_due", readBy: promote, in: fixture) >= Self.jobs)
        #expect(try await fixture.value("SELECT count(*) FROM larder_data.ready") == "\(Self.jobs)")
        // In the transaction of the run, so that a minute does not end between the two.
        let later = """
            DO $$ BEGIN
                UPDATE larder_data.maintenance SET cursor = extract(epoch FROM now()) WHERE task = 'promote';
                PERFORM larder_data.maintenance_promote();
            END $$
            """
        #expect(try await entries(of: "scheduled_due", readBy: later, in: fixture) == 0)
        try await schedule("5 s")
        #expect(try await entries(of: "scheduled_due", readBy: later, in: fixture) >= Self.jobs)
        #expect(try await fixture.value("SELECT count(*) FROM larder_data.ready") == "\(Self.jobs)")
        _ = try await holder.rows("COMMIT")
    }

    @Test func `the search for lost jobs reads live workers only, however many have ended today`() async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.sql(
            "SELECT larder.worker_start_v1('ended', 'h', g, '1', 1) FROM generate_series(1, 200) AS g")
        let live = try await fixture.startWorker()
        try await fixture.sql("SELECT larder.worker_stop_v1(worker) FROM larder.worker WHERE name = 'ended'")
        let rescue = "SELECT larder_data.maintenance_rescue()"
        #expect(try await entries(of: "worker_pkey", readBy: rescue, in: fixture) >= 200)
        #expect(try await entries(of: "worker_pkey", readBy: rescue, in: fixture) < 20)
        #expect(try await live.heartbeat().leaseExpired == false)
        let states = "SELECT state, count(*) FROM larder.worker GROUP BY state ORDER BY state"
        #expect(try await fixture.sql(states) == [["live", "1"], ["stopped", "200"]])
        #expect(try await fixture.value("SELECT live_workers FROM larder.queue") == "1")
    }
}
