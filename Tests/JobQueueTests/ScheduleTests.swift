import TestSupport
import Testing

@testable import JobQueue

@Suite(.timeLimit(.minutes(5)))
struct ScheduleTests {
    private func list(_ count: Int) -> EnqueueRequest {
        EnqueueRequest(urls: (0..<count).map { "http://a/\($0)" })
    }

    /// Makes all schedules due since a while ago.
    private func pass(_ fixture: QueueFixture, _ interval: String = "1 s") async throws {
        try await fixture.sql("UPDATE larder_data.schedule SET next_at = clock_timestamp() - interval '\(interval)'")
    }

    private func finish(_ fixture: QueueFixture) async throws {
        try await fixture.sql(
            "SELECT larder.batch_cancel(b.id::text) FROM larder_data.batch b WHERE b.finished_at IS NULL")
        try await fixture.queue.workers.maintain(force: true)
    }

    @Test func `each run is the next run of the batch, with the settings of the list`() async throws {
        let fixture = try await QueueFixture.make()
        var request = list(2)
        request.priority = 2
        request.metas = [#"{"n":1}"#, nil]
        request.settings = [EnqueueRequest.Settings(), EnqueueRequest.Settings()]
        request.settings[1].priority = 7
        let next = try await fixture.queue.operations.setSchedule(
            "nightly", cron: "0 2 * * *", timeZone: "Europe/Berlin", query: nil, request: request)
        #expect(next.contains(":00:00.000Z"))
        #expect(try await fixture.queue.workers.maintain(.schedule) == 0)
        for run in 1...2 {
            try await pass(fixture)
            #expect(try await fixture.queue.workers.maintain(.schedule) > 0)
            #expect(try await fixture.queue.workers.maintain(.schedule) == 0)
            let state =
                "SELECT count(*) || ' ' || sum(total) || ' ' || bool_and(sealed_at IS NOT NULL) FROM larder.progress"
            #expect(try await fixture.value(state) == "\(run) \(2 * run) true")
            let jobs = "SELECT string_agg(concat_ws(' ', url, priority, meta), ', ' ORDER BY url) FROM larder_data.job"
            #expect(try await fixture.value(jobs + " WHERE items > 0") == #"http://a/0 2 {"n":1}, http://a/1 7"#)
            try await finish(fixture)
        }
        let schedule = try #require(try await fixture.queue.reports.schedules().first)
        #expect(schedule.lastURLs == 2)
        #expect(schedule.lastError == nil)
        #expect(schedule.missed == 0)
        #expect(
            try await fixture.value("SELECT id FROM larder_data.batch WHERE run = 2") == "\(schedule.lastBatch ?? 0)")
        try await fixture.expectSound()
    }

    @Test func `many workers run each due schedule once`() async throws {
        let fixture = try await QueueFixture.make()
        for name in ["a", "b", "c"] {
            _ = try await fixture.queue.operations.setSchedule(
                name, cron: "@hourly", timeZone: "UTC", query: nil,
                // None waits for the jobs of another one, which postpones a run.
                request: EnqueueRequest(urls: (0..<20_001).map { "http://\(name)/\($0)" }))
        }
        try await pass(fixture)
        let url = fixture.database.directURL
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    let queue = PostgresJobQueue(.init(databaseURL: url))
                    while try await queue.workers.maintain(.schedule) > 0 {}
                    await queue.close()
                }
            }
            try await group.waitForAll()
        }
        #expect(
            try await fixture.value("SELECT string_agg(batch || total, ' ' ORDER BY batch) FROM larder.progress")
                == "a20001 b20001 c20001")
    }

    @Test func `runs that no worker made are counted, and one is made`() async throws {
        let fixture = try await QueueFixture.make()
        _ = try await fixture.queue.operations.setSchedule(
            "s", cron: "@hourly", timeZone: "UTC", query: nil, request: list(1))
        try await pass(fixture, "5 h")
        #expect(try await fixture.value("SELECT string_agg(what, ',') FROM larder.health") == "a schedule is late")
        try await fixture.queue.workers.maintain(.schedule)
        #expect(try await fixture.value("SELECT missed || ' ' || (next_at > now()) FROM larder.schedule") == "5 true")
        #expect(try await fixture.value("SELECT count(*) FROM larder_data.batch") == "1")
    }

    /// A schedule of each hour whose first run is not finished, and whose next run waits since an interval ago.
    private func waiting(_ fixture: QueueFixture, _ interval: String) async throws {
        _ = try await fixture.queue.operations.setSchedule(
            "s", cron: "@hourly", timeZone: "UTC", query: nil, request: list(1))
        try await pass(fixture)
        try await fixture.queue.workers.maintain(.schedule)
        try await pass(fixture, interval)
        let error = await #expect(throws: QueueError.self) { try await fixture.queue.workers.maintain(.schedule) }
        #expect(error?.message == "schedule s: batch s@1 is not finished")
    }

    @Test func `a run waits for the end of the batch before, and further ones are counted`() async throws {
        let fixture = try await QueueFixture.make()
        try await waiting(fixture, "5 h")
        // It is not tried again, and no work that is left.
        #expect(try await fixture.queue.workers.maintain(.schedule) == 0)
        try await fixture.sql("SELECT larder.queue_pause('default')")
        #expect(try await fixture.value("SELECT has_ready FROM larder.remaining()") == "f")
        let schedule = try #require(try await fixture.queue.reports.schedules().first)
        let batch = try await fixture.value("SELECT batch_id FROM larder.progress")
        #expect(schedule.waitingFor.map(String.init) == batch)
        #expect(schedule.lastURLs == 1)
        try await finish(fixture)
        #expect(try await fixture.value("SELECT has_ready FROM larder.remaining()") == "t")
        #expect(try await fixture.queue.workers.maintain(.schedule) > 0)
        #expect(try await fixture.queue.workers.maintain(.schedule) == 0)
        // An hour may begin during the test.
        let state = """
            concat_ws(' ', missed BETWEEN 5 AND 7, last_error IS NULL, waiting_for IS NULL, next_at > now(),
                last_batch > \(batch ?? "0"))
            """
        #expect(try await fixture.value("SELECT \(state) FROM larder.schedule") == "t t t t t")
        #expect(try await fixture.value("SELECT count(*) FROM larder.progress") == "2")
    }

    @Test(arguments: [("10 min", "info"), ("5 h", "warning")])
    func `health says since when a schedule waits, and for which batch`(interval: String, severity: String) async throws
    {
        let fixture = try await QueueFixture.make()
        try await waiting(fixture, interval)
        let finding = "SELECT concat_ws(' ', severity, detail) FROM larder.health WHERE what LIKE 'a schedule%'"
        let text = try #require(try await fixture.value(finding))
        #expect(text.hasPrefix("\(severity) s, since 2"), "\(text)")
        #expect(text.contains("batch s@1 is not finished"), "\(text)")
        let hints = try await fixture.queue.reports.health().map(\.hint)
        #expect(hints.contains { $0.hasSuffix("'larder cancel 1' ends it") }, "\(hints)")
        try await finish(fixture)
        #expect(try await fixture.value(finding) == nil)
    }

    @Test func `pausing a schedule gives its waiting run up`() async throws {
        let fixture = try await QueueFixture.make()
        try await waiting(fixture, "5 h")
        try await fixture.queue.operations.pauseSchedule("s")
        try await finish(fixture)
        try await fixture.queue.operations.resumeSchedule("s")
        #expect(try await fixture.queue.workers.maintain(.schedule) == 0)
        let state = "concat_ws(' ', last_error IS NULL, waiting_for IS NULL, next_at > now(), last_batch)"
        #expect(try await fixture.value("SELECT \(state) FROM larder.schedule") == "t t t 1")
    }

    @Test func `a query has the rights of larder_schedule only, and leaves nothing behind`() async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.sql("CREATE SCHEMA shop CREATE TABLE product (image text, price int)")
        try await fixture.sql("INSERT INTO shop.product VALUES ('http://a/1', 7), ('http://a/2', NULL)")
        func set(_ query: String) async throws -> String? {
            do throws(QueueError) {
                _ = try await fixture.queue.operations.setSchedule(
                    "s", cron: "@hourly", timeZone: "UTC", query: query, request: EnqueueRequest(urls: []))
                return nil
            } catch { return error.message }
        }
        let query = "SELECT image AS url, price AS priority, image AS name FROM shop.product; -- all"
        #expect(try await set("SELECT 1 AS url FROM larder_data.job")?.contains("permission denied") == true)
        #expect(try await set(query.replacing("; -- all", with: ""))?.contains("permission denied") == true)
        try await fixture.sql("GRANT USAGE ON SCHEMA shop TO larder_schedule")
        try await fixture.sql("GRANT SELECT ON shop.product TO larder_schedule")
        #expect(try await set("SELECT image FROM shop.product")?.contains("no url") == true)
        #expect(try await set("SELECT nothing FROM shop.product")?.contains("does not exist") == true)
        // It runs as larder_schedule, also when others call it, and what it sets is undone.
        try await fixture.sql(
            """
            CREATE FUNCTION shop.evil() RETURNS text LANGUAGE plpgsql AS $$ BEGIN
                PERFORM set_config('search_path', 'evil', false);
                RETURN 'http://a/' || current_user;
            END $$
            """)
        #expect(try await set("SELECT shop.evil() AS url UNION ALL SELECT image FROM shop.product") == nil)
        try await pass(fixture)
        #expect(try await fixture.queue.workers.maintain(.schedule) > 0)
        #expect(
            try await fixture.value("SELECT string_agg(url, ' ' ORDER BY url) FROM larder_data.job")
                == "http://a/1 http://a/2 http://a/larder_schedule")
        try await finish(fixture)
        #expect(try await set(query.replacing("; -- all", with: " -- all")) == nil)
        try await pass(fixture)
        #expect(try await fixture.queue.workers.maintain(.schedule) > 0)
        #expect(
            try await fixture.value(
                "SELECT string_agg(url || priority || meta, ' ' ORDER BY url) FROM larder_data.job WHERE items > 0")
                == #"http://a/17{"name" : "http://a/1"} http://a/24{"name" : "http://a/2"}"#)
        // Afterwards the table is gone: the run fails, the next one is due, and nothing is enqueued.
        try await finish(fixture)
        try await fixture.sql("DROP TABLE shop.product")
        try await pass(fixture)
        let error = await #expect(throws: QueueError.self) { try await fixture.queue.workers.maintain(.schedule) }
        #expect(error?.message.contains("does not exist") == true)
        #expect(
            try await fixture.value("SELECT (next_at > now()) || ' ' || last_error FROM larder.schedule")?.hasPrefix(
                "true the query fails") == true)
    }

    @Test func `a paused schedule is not run, and unknown names are refused`() async throws {
        let fixture = try await QueueFixture.make()
        _ = try await fixture.queue.operations.setSchedule(
            "s", cron: "@hourly", timeZone: "UTC", query: nil, request: list(1))
        try await fixture.queue.operations.pauseSchedule("s")
        try await pass(fixture)
        #expect(try await fixture.queue.workers.maintain(.schedule) == 0)
        try await fixture.queue.operations.resumeSchedule("s")
        #expect(try await fixture.value("SELECT next_at > now() FROM larder.schedule") == "t")
        try await fixture.queue.operations.removeSchedule("s")
        for verb in ["pause", "resume", "run", "remove"] {
            await #expect(throws: QueueError.self) { try await fixture.sql("SELECT larder.schedule_\(verb)('s')") }
        }
        await #expect(throws: QueueError.self) {
            _ = try await fixture.queue.operations.setSchedule(
                "s", cron: "@hourly", timeZone: "Mars/Base", query: nil, request: list(1))
        }
    }

    @Test func `a run whose jobs another transaction locks is made later, and other schedules before it`()
        async throws
    {
        let fixture = try await QueueFixture.make()
        for (name, url) in [("held", "http://a/held"), ("free", "http://b/free")] {
            _ = try await fixture.queue.operations.setSchedule(
                name, cron: "@hourly", timeZone: "UTC", query: nil, request: EnqueueRequest(urls: [url]))
        }
        func pass(_ name: String, _ interval: String) async throws {
            try await fixture.sql(
                """
                UPDATE larder_data.schedule SET next_at = clock_timestamp() - interval '\(interval)'
                WHERE name = '\(name)'
                """)
        }
        try await pass("held", "2 s")
        try await pass("free", "1 s")
        let holder = fixture.otherConnection()
        _ = try await holder.rows("BEGIN")
        _ = try await holder.rows("SELECT FROM larder.enqueue('http://a/held', batch => 'other')")
        let error = await #expect(throws: QueueError.self) { try await fixture.queue.workers.maintain(.schedule) }
        #expect(error?.message == "schedule held: postponed by 5 s: another transaction holds a lock (SQLSTATE 55P03)")
        #expect(
            try await fixture.value(
                """
                SELECT concat_ws(' ', next_at BETWEEN now() - interval '1 min' AND now() + interval '10 s', missed,
                    last_at IS NULL, last_batch IS NULL)
                FROM larder.schedule WHERE name = 'held'
                """) == "t 0 t t")
        // The other one is due for less time, and is run next.
        _ = try await fixture.queue.workers.maintain(.schedule)
        #expect(try await fixture.value("SELECT string_agg(batch, ' ') FROM larder.progress") == "free")
        _ = try await holder.rows("COMMIT")
        await holder.close()
        try await pass("held", "1 s")
        #expect(try await fixture.queue.workers.maintain(.schedule) > 0)
        #expect(
            try await fixture.value(
                "SELECT concat_ws(' ', missed, last_error IS NULL, last_urls) FROM larder.schedule WHERE name = 'held'")
                == "0 t 1")
        #expect(try await fixture.value("SELECT total FROM larder.progress WHERE batch = 'held'") == "1")
        try await fixture.expectSound()
    }

    @Test func `a run whose worker has died is made by another one, and by one of two that know of it`() async throws {
        let fixture = try await QueueFixture.make()
        _ = try await fixture.queue.operations.setSchedule(
            "s", cron: "@hourly", timeZone: "UTC", query: nil, request: list(1))
        try await pass(fixture)
        let due = "SELECT due_at::text FROM larder.due_schedule_v1()"
        let at = try #require(try await fixture.value(due))
        #expect(try await fixture.value(due) == at, "the first worker has died")
        let run = """
            SELECT count(batch_id) FROM larder.run_schedule_v1('s', '\(at)', now() + interval '1 h')
            """
        #expect(try await fixture.value(run) == "1")
        #expect(try await fixture.value(run) == "0")
        #expect(try await fixture.value(due) == nil)
    }

    @Test func `a schedule that is set in SQL gets its next time from a worker, or the reason why it has none`()
        async throws
    {
        let fixture = try await QueueFixture.make()
        let state = "SELECT concat_ws(' ', next_at > now(), last_error, missed) FROM larder.schedule"
        try await fixture.sql("SELECT larder.schedule_set('s', '0 2 L * *', 'Europe/Berlin', urls => '{http://a/1}')")
        #expect(try await fixture.value(state) == "0")
        #expect(try await fixture.value("SELECT string_agg(what, ',') FROM larder.health") == "a schedule is late")
        _ = try await fixture.queue.workers.maintain(.schedule)
        #expect(try await fixture.value(state) == "t 0")
        #expect(try await fixture.value("SELECT count(*) FROM larder_data.batch") == "0")
        for (cron, zone, reason) in [
            ("60 * * * *", "UTC", "numbers from 0 to 59"), ("0 0 30 feb *", "UTC", "never comes"),
            ("@daily", "Mars/Base", "unknown time zone"),
        ] {
            try await fixture.sql("SELECT larder.schedule_set('s', '\(cron)', urls => '{http://a/1}')")
            // As after an update of the server's time zones.
            try await fixture.sql("UPDATE larder_data.schedule SET time_zone = '\(zone)'")
            let error = await #expect(throws: QueueError.self) { try await fixture.queue.workers.maintain(.schedule) }
            #expect(error?.message.contains(reason) == true)
            #expect(try await fixture.queue.workers.maintain(.schedule) == 0)
            #expect(try await fixture.value(state)?.contains(reason) == true)
            #expect(try await fixture.value("SELECT what FROM larder.health") == "a schedule fails")
        }
    }

    @Test(arguments: [
        "''", "'7'", "'a@1'", "E'a\\nb'", "repeat('a', 201)", "NULL", "'a', '* * * *'", "'a', '@every 5 m'",
        "'a', NULL",
        "'a', repeat('1', 999) || ' * * * *'", "'a', time_zone => NULL", "'a', time_zone => 'Mars/Base'",
        "'a', query => 'SELECT 1'", "'a', metas => '{null,null}'", "'a', request => '[]'", "'a', request => NULL",
        "'a', request => '{\"context\": \"\\u0000\"}'", "'a', request => '{\"on_finished\": \"ftp://a/\"}'",
        "'a', request => json_build_object('context', repeat('a', 400001))", "'a', next_at => 'infinity'",
    ])
    func `an invalid schedule is refused`(arguments: String) async throws {
        let fixture = try await QueueFixture.make()
        let named =
            arguments.hasPrefix("'a', '") || arguments.hasPrefix("'a', NULL") || arguments.hasPrefix("'a', repeat")
        let error = await #expect(throws: QueueError.self) {
            try await fixture.sql(
                "SELECT larder.schedule_set(\(arguments), \(named ? "" : "cron => '@daily', ")urls => '{http://a/1}')")
        }
        #expect(["22023", "22P05"].contains(error?.sqlState), "\(error?.message ?? "")")
    }

    @Test func `a batch of another role does not keep a schedule waiting`() async throws {
        let fixture = try await QueueFixture.make()
        _ = try await fixture.queue.operations.setSchedule(
            "s", cron: "@hourly", timeZone: "UTC", query: nil, request: list(1))
        try await fixture.enqueue(["http://a/1"], batch: "s")
        try await fixture.sql("UPDATE larder_data.batch SET owner = 'pg_monitor'")
        try await pass(fixture)
        let error = await #expect(throws: QueueError.self) { try await fixture.queue.workers.maintain(.schedule) }
        let reason = "batch s@1 is not finished, and belongs to role pg_monitor (SQLSTATE LA001)"
        #expect(error?.message == "schedule s: \(reason)")
        let state = "SELECT concat_ws(' ', next_at > now(), missed, waiting_for, last_error) FROM larder.schedule"
        #expect(try await fixture.value(state) == "t 1 \(reason)")
        let finding = try #require(try await fixture.queue.reports.health().first)
        #expect(finding.what == "a schedule fails")
        #expect(finding.detail.hasSuffix(reason))
    }

    @Test func `the path of a webhook is never shown`() async throws {
        let fixture = try await QueueFixture.make()
        _ = try await fixture.queue.operations.setSchedule(
            "s", cron: "@hourly", timeZone: "UTC", query: nil, request: list(1),
            onFinished: "https://me:secret@hooks.example:8443/secret?secret=1")
        #expect(
            try await fixture.value("SELECT request ->> 'on_finished' FROM larder.schedule")
                == "https://hooks.example:8443")
    }

    /// In a transaction that is rolled back, as all databases of the server share the role.
    @Test func `queries have their role also where the owner of the schema is no superuser`() async throws {
        let fixture = try await QueueFixture.make()
        let owner = fixture.otherConnection()
        for statement in [
            "BEGIN", "ALTER ROLE larder_schedule RENAME TO larder_schedule_before",
            "CREATE ROLE larder_owner CREATEROLE", "ALTER SCHEMA larder_data OWNER TO larder_owner",
            "ALTER FUNCTION larder_data.schedule_rows OWNER TO larder_owner", "SET LOCAL ROLE larder_owner",
            "SELECT larder_data.create_schedule_role()",
        ] { _ = try await owner.rows(statement) }
        let role = "SELECT proowner::regrole::text FROM pg_proc WHERE oid = 'larder_data.schedule_rows'::regproc"
        #expect(try await owner.rows(role) == [["larder_schedule"]])
        _ = try await owner.rows("ROLLBACK")
        await owner.close()
    }

    @Test func `a due schedule is work that is left`() async throws {
        let fixture = try await QueueFixture.make()
        _ = try await fixture.queue.operations.setSchedule(
            "s", cron: "@hourly", timeZone: "UTC", query: nil, request: list(1))
        #expect(try await fixture.value("SELECT has_ready FROM larder.remaining()") == "f")
        try await pass(fixture)
        #expect(try await fixture.value("SELECT has_ready FROM larder.remaining()") == "t")
    }
}
