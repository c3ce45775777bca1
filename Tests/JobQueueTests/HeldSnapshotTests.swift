import ImageModel
import TestSupport
import Testing

@testable import JobQueue

/// An old snapshot keeps every row that has passed through the queue. What runs often starts behind these rows.
///
/// The transactions that stay open are READ COMMITTED: serializable ones fail when others read their rows.
@Suite(.timeLimit(.minutes(5)))
struct HeldSnapshotTests {
    private static let jobs = 2_000

    /// How many entries of an index a statement reads, with the entries of dead rows. At the level of a worker's calls:
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
        _ = try await fixture.queue.producer.enqueue(EnqueueRequest(urls: urls, batch: "a"))
        for _ in 0..<10 {
            let jobs = try await worker.claim(upTo: Self.jobs / 10)
            _ = try await worker.complete(jobs.map { Outcome($0.held, .succeeded) })
            // Entries of a transaction each.
            for _ in 0..<20 {
                try await fixture.sql(
                    "INSERT INTO larder_data.batch_delta (batch_id, retries) SELECT id, 1 FROM larder_data.batch")
            }
            try await fixture.queue.workers.maintain(force: true)
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
                of: "running_claim", readBy: "SELECT larder.heartbeat_v1($1)", [.integer(worker.id)], in: fixture)
            #expect(all == Self.jobs, "without the number of its oldest claim the worker's dead rows are read")
            _ = try await worker.heartbeat()
            let oldest = try #require(
                try await fixture.value(
                    "SELECT oldest_claim FROM larder_data.worker WHERE id = $1", [.integer(worker.id)]))
            let heartbeat = try await entries(
                of: "running_claim", readBy: "SELECT larder.heartbeat_v1($1, \(oldest))", [.integer(worker.id)],
                in: fixture)
            #expect(heartbeat == 0)
            let rescue = "SELECT larder_data.run_task('rescue')"
            #expect(try await entries(of: "running_claim", readBy: rescue, in: fixture) == 0)
            try await worker.stop()
            #expect(try await entries(of: "running_claim", readBy: rescue, in: fixture) == Self.jobs)
            #expect(try await entries(of: "running_claim", readBy: rescue, in: fixture) == 0, "a dead worker, once")
        }
    }

    @Test func `a walk for the floor reads each dead entry once, and claims behind it none`() async throws {
        try await afterManyJobs { fixture, worker in
            let claims = "SELECT larder_data.run_task('claims')"
            try await fixture.sql(claims)
            try await fixture.sql(claims)
            #expect(try await entries(of: "ready_turn", readBy: claims, in: fixture) <= Self.jobs)
            let claim = "SELECT * FROM larder.claim_v1(\(worker.id), 100, 5)"
            #expect(try await entries(of: "ready_turn", readBy: claim, in: fixture) == 0)
            _ = try await fixture.queue.producer.enqueue(EnqueueRequest(urls: ["http://host/new"], batch: "b"))
            try await fixture.sql(claims)
            #expect(try await worker.claim(upTo: 5).map(\.url) == ["http://host/new"])
        }
    }

    @Test func `every kind of claim passes over the jobs before its start`() async throws {
        try await afterManyJobs { fixture, worker in
            // Statistics of an almost empty table: no choice of index may depend on them.
            let urls = (0..<50).map { "http://host/last \($0)" }
            _ = try await fixture.queue.producer.enqueue(EnqueueRequest(urls: urls, batch: "b"))
            try await fixture.sql("VACUUM ANALYZE larder_data.ready")
            try await fixture.sql("SELECT larder_data.run_task('claims')")
            for number in 100..<120 {
                let claim = "SELECT * FROM larder.claim_v1(\(worker.id), \(number), 2)"
                for index in ["ready_pkey", "ready_turn"] {
                    let read = try await entries(of: index, readBy: claim, in: fixture)
                    #expect(read < 200, "claim \(number) read \(read) entries of \(index)")
                }
            }
        }
    }

    @Test func `claims read no more dead entries than there are since the last walk`() async throws {
        let fixture = try await QueueFixture.make()
        // A new origin would make the second enqueue wait for the first.
        _ = try await fixture.queue.producer.enqueue(EnqueueRequest(urls: ["http://host/0"], batch: "a"))
        let holder = fixture.otherConnection()
        _ = try await holder.rows("BEGIN ISOLATION LEVEL READ COMMITTED")
        _ = try await holder.rows("SELECT larder.enqueue_many(ARRAY['http://host/late'], batch => 'late')")
        let urls = (1..<5_000).map { "http://host/\($0)" }
        _ = try await fixture.queue.producer.enqueue(EnqueueRequest(urls: urls, batch: "a"))
        let worker = try await fixture.startWorker()
        try await fixture.sql("SELECT larder_data.run_task('claims')")
        for number in 1...220 {
            if number % 20 == 0 { try await fixture.sql("SELECT larder_data.run_task('claims')") }
            let claim = "SELECT * FROM larder.claim_v1(\(worker.id), \(number), 20)"
            let read = try await entries(of: "ready_turn", readBy: claim, in: fixture)
            #expect(read < 1_000, "claim \(number) read \(read) entries")
        }
        _ = try await holder.rows("COMMIT")
        try await fixture.sql("SELECT larder_data.run_task('claims')")
        #expect(try await worker.claim(upTo: 1).map(\.url) == ["http://host/late"])
        try await fixture.expectSound()
    }

    @Test func `jobs of a transaction that commits late are found behind later ones that were claimed`() async throws {
        let fixture = try await QueueFixture.make()
        // A new origin would make the second enqueue wait for the first.
        _ = try await fixture.queue.producer.enqueue(EnqueueRequest(urls: ["http://host/0"], batch: "b"))
        let late = fixture.otherConnection()
        _ = try await late.rows("BEGIN ISOLATION LEVEL READ COMMITTED")
        _ = try await late.rows("SELECT larder.enqueue_many(ARRAY['http://host/late'], batch => 'a')")
        _ = try await fixture.queue.producer.enqueue(
            EnqueueRequest(urls: ["http://host/1", "http://host/2"], batch: "b"))
        let worker = try await fixture.startWorker()
        #expect(try await worker.claim(upTo: 5).count == 3)
        let claims = "SELECT larder_data.run_task('claims')"
        // Twice, as the floor of an empty lane follows a walk later.
        try await fixture.sql(claims)
        try await fixture.sql(claims)
        _ = try await late.rows("COMMIT")
        #expect(try await worker.claim(upTo: 2).isEmpty)
        try await fixture.sql(claims)
        #expect(try await worker.claim(upTo: 2).map(\.url) == ["http://host/late"])
    }

    @Test func `counts add up the entries of a transaction that was open during earlier runs`() async throws {
        let fixture = try await QueueFixture.make()
        _ = try await fixture.queue.producer.enqueue(EnqueueRequest(urls: ["http://host/1"], batch: "a"))
        let late = fixture.otherConnection()
        let insert = "INSERT INTO larder_data.batch_delta (batch_id, retries) SELECT id, 1 FROM larder_data.batch"
        _ = try await late.rows("BEGIN ISOLATION LEVEL READ COMMITTED")
        _ = try await late.rows(insert)
        for _ in 0..<3 {
            try await fixture.sql(insert)
            try await fixture.queue.workers.maintain(force: true)
        }
        let progress = "SELECT retries FROM larder.progress WHERE batch_id = 1"
        #expect(try await fixture.value(progress) == "3")
        _ = try await late.rows("COMMIT")
        #expect(try await fixture.value(progress) == "4")
        try await fixture.queue.workers.maintain(force: true)
        #expect(try await fixture.value(progress) == "4")
        #expect(try await fixture.value("SELECT count(*) FROM larder_data.batch_delta") == "0")
    }

    @Test func `a completion during a cancelled batch reads no items but its jobs' items`() async throws {
        let fixture = try await QueueFixture.make()
        let urls = (0..<500).map { "http://host/\($0)" }
        _ = try await fixture.queue.producer.enqueue(EnqueueRequest(urls: urls, batch: "a"))
        try await fixture.sql("SELECT larder.batch_open('late')")
        let late = fixture.otherConnection()
        _ = try await late.rows("BEGIN ISOLATION LEVEL READ COMMITTED")
        let join = "SELECT larder.enqueue_many(ARRAY(SELECT url FROM larder_data.job), batch => 'late')"
        _ = try await late.rows(join)
        try await fixture.sql("SELECT larder.batch_cancel('late')")
        let worker = try await fixture.startWorker()
        let complete = "SELECT larder.complete_v1(\(worker.id), $1::json)"
        for index in ["job_item_batch", "job_item_pkey"] {
            let jobs = try await worker.claim(upTo: 20)
            let results = "[" + jobs.map { $0.held.succeeded() }.joined(separator: ",") + "]"
            let read = try await entries(of: index, readBy: complete, [.text(results)], in: fixture)
            #expect(read <= (index == "job_item_batch" ? 0 : 100), "\(read) entries of \(index)")
        }
        _ = try await late.rows("COMMIT")
        try await fixture.queue.workers.maintain(force: true)
        try await fixture.queue.workers.maintain(force: true)
        let ended = "SELECT cancelled + succeeded + failed FROM larder.progress WHERE batch = 'late'"
        #expect(try await fixture.value(ended) == "500")
        try await fixture.expectSound()
    }

    @Test func `rows that are updated every second cost the same after a thousand updates as before`() async throws {
        let fixture = try await QueueFixture.make()
        let holder = fixture.otherConnection()
        let worker = try await fixture.startWorker()
        _ = try await fixture.queue.producer.enqueue(
            EnqueueRequest(urls: (0..<500).map { "http://host/\($0)" }, batch: "a"))
        try await fixture.queue.workers.maintain(force: true)
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
                        PERFORM larder_data.run_task('counts'), larder_data.change_task('counts', clock_timestamp()),
                            larder_data.change_task('finish', clock_timestamp());
                        COMMIT;
                    END LOOP;
                END $$
                """)
            // The statistics of one row, in indexes of many: no choice of scan may depend on them.
            try await fixture.sql(
                """
                VACUUM ANALYZE larder_data.worker, larder_data.maintenance, larder_data.claim_cursor
                """)
        }
        func costs() async throws -> [String: Int] {
            var found: [String: Int] = [:]
            for statement in [
                "SELECT count(*) FROM larder.claim_v1(\(worker.id), 7, 1)",
                "SELECT count(*) FROM larder.heartbeat_v1(\(worker.id), 1)",
                "SELECT larder_data.run_task('rescue')", "SELECT larder_data.run_task('claims')",
                "SELECT larder_data.run_task('counts')", "SELECT larder_data.run_task('promote')",
                "SELECT larder_data.find_cache(NULL)",
                "SELECT count(*) FROM larder.maintain(true, 'urgent')",
                "SELECT count(*) FROM larder.maintain(true, 'routine')",
                "SELECT count(*) FROM larder.complete_v1(\(worker.id), '[]')",
                "SELECT count(*) FROM larder.enqueue_many(ARRAY['http://host/1'], batch => 'a')",
                "SELECT total FROM larder.progress WHERE batch = 'a'",
            ] {
                // The least of three: a first run in a second does more, for example it takes the call for maintenance.
                var runs: [Int] = []
                for _ in 0..<3 { runs.append(try await fixture.pages(readBy: statement)) }
                found[statement] = runs.min()
            }
            return found
        }
        try await age(100)
        let young = try await costs()
        try await age(1_000)
        for (statement, pages) in try await costs() {
            // A lookup reads two pages while the index has one level, and one more per level. A heartbeat makes twenty
            // of them where the call for maintenance is due, as it is each time on a slow machine. Reading the old
            // versions takes hundreds of pages.
            let few = try #require(young[statement])
            #expect(pages <= few * 2 + 4, "\(statement) read \(few) pages, then \(pages)")
        }
        _ = try await holder.rows("COMMIT")
    }

    @Test func `jobs that become due are found behind those that did, and late ones within a minute`() async throws {
        let fixture = try await QueueFixture.make()
        let holder = fixture.otherConnection()
        _ = try await holder.rows("BEGIN ISOLATION LEVEL REPEATABLE READ")
        _ = try await holder.rows("SELECT count(*) FROM pg_class")
        let urls = (0..<Self.jobs).map { "http://host/\($0)" }
        _ = try await fixture.queue.producer.enqueue(EnqueueRequest(urls: urls, batch: "a"))
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
        let promote = "SELECT larder_data.run_task('promote')"
        try await schedule("1 hour")
        try await runAt("60")
        #expect(try await entries(of: "scheduled_due", readBy: promote, in: fixture) >= Self.jobs)
        #expect(try await fixture.value("SELECT count(*) FROM larder_data.ready") == "\(Self.jobs)")
        // In the transaction of the run, so that a minute does not end between the two.
        let later = """
            DO $$ BEGIN
                UPDATE larder_data.maintenance SET cursor = extract(epoch FROM now()) WHERE task = 'promote';
                PERFORM larder_data.run_task('promote');
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
        let rescue = "SELECT larder_data.run_task('rescue')"
        #expect(try await entries(of: "worker_pkey", readBy: rescue, in: fixture) >= 200)
        #expect(try await entries(of: "worker_pkey", readBy: rescue, in: fixture) < 20)
        #expect(try await live.heartbeat().leaseExpired == false)
        let states = "SELECT state, count(*) FROM larder.worker GROUP BY state ORDER BY state"
        #expect(try await fixture.sql(states) == [["live", "1"], ["stopped", "200"]])
        #expect(try await fixture.value("SELECT live_workers FROM larder.queue") == "1")
    }
}
