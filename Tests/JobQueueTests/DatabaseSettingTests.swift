import ImageModel
import TestSupport
import Testing

@testable import JobQueue

/// Settings of a database that functions must not depend on.
@Suite(.timeLimit(.minutes(5)))
struct DatabaseSettingTests {
    @Test func `formats, escapes, paths and time zones of the database change no answer`() async throws {
        let fixture = try await QueueFixture.make()
        for (setting, value) in [
            ("standard_conforming_strings", "off"), ("escape_string_warning", "off"), ("DateStyle", "German, YMD"),
            ("IntervalStyle", "sql_standard"), ("bytea_output", "escape"), ("TimeZone", "Asia/Tokyo"),
            ("search_path", ""), ("array_nulls", "off"), ("transform_null_equals", "on"),
            ("quote_all_identifiers", "on"), ("extra_float_digits", "-10"), ("lc_messages", "C"),
            ("lock_timeout", "5ms"), ("statement_timeout", "30s"), ("client_encoding", "LATIN1"),
            ("plpgsql.variable_conflict", "use_variable"), ("row_security", "off"),
        ] {
            try await fixture.alterDatabase(setting, value)
        }
        try await fixture.endSessions()
        // A pooler gives its clients their own value.
        if !TemporaryDatabase.isPooled {
            #expect(try await fixture.value("SHOW standard_conforming_strings") == "off")
            #expect(try await fixture.value("SHOW lock_timeout") == "5ms")
            #expect(try await fixture.value("SHOW plpgsql.variable_conflict") == "use_variable")
        }
        let urls = ["http://a:8080/1", "https://[::1]:99/2", "http://u:p@h:080/3", "http://a/\u{1}", "ftp://a/4", ""]
        let kinds = try await fixture.enqueue(urls).map(\.kind)
        #expect(kinds == [.inserted, .inserted, .inserted, .invalid, .invalid, .invalid])
        let worker = try await fixture.startWorker()
        let jobs = try await worker.claim(upTo: 9)
        #expect(Set(jobs.map(\.origin)) == ["http://a:8080", "https://[::1]:99", "http://h:80"])
        let message = FailureReason(domain: "SDWebImageErrorDomain", code: 1001, message: "a\u{0}b\\u0000")
        _ = try await worker.complete([
            Outcome(jobs[0].held, .succeeded), Outcome(jobs[1].held, .failed(message)), .unavailable(jobs[2].held),
        ])
        let recorded = try await fixture.value("SELECT message FROM larder_data.job_history WHERE code = 1001")
        #expect(recorded == "a\u{FFFD}b\\u0000")
        try await fixture.queue.operations.block(["http://b/1"], for: .seconds(3_600))
        #expect(try await fixture.queue.reports.blocklist().count == 2)
        try await fixture.queue.producer.seal(.name("batch"))
        // Days that are not there yet. Autovacuum may have the table locked.
        let drop = "DROP TABLE larder_data.job_history_\(try await fixture.day(6))"
        try await fixture.sql("DO $$ BEGIN SET LOCAL lock_timeout = 0; EXECUTE '\(drop)'; END $$")
        try await fixture.queue.workers.maintain(force: true)
        try await fixture.queue.workers.maintain(.owner)
        #expect(try await fixture.queue.reports.progress(of: .name("batch")).failed == 4)
        #expect(try await fixture.queue.reports.health().filter { $0.severity == .error }.isEmpty)
        try await fixture.expectSound()
    }

    @Test func `a publication of all tables refuses no function and no maintenance task`() async throws {
        let fixture = try await QueueFixture.make()
        let level = try await fixture.value("SHOW wal_level")
        let missing = try await fixture.sql(
            """
            SELECT c.oid::regclass::text FROM pg_class c
            WHERE c.relnamespace = 'larder_data'::regnamespace AND c.relkind IN ('r', 'p') AND NOT (c.relreplident = 'f'
                OR c.relreplident = 'd' AND EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indisprimary))
            """)
        #expect(missing.isEmpty, "\(missing), wal_level \(level ?? "")")
        try await fixture.sql("CREATE PUBLICATION everything FOR ALL TABLES")
        let worker = try await fixture.startWorker()
        for round in 0..<2 {
            if round == 0 { try await fixture.enqueue(["http://a/1", "http://a/2", "http://a/3", "nothing"]) }
            let jobs = try await worker.claim(upTo: 3)
            try #require(jobs.count == 3)
            _ = try await worker.complete([
                Outcome(jobs[0].held, .failed(.notAnImage)), Outcome(jobs[1].held, .failed(.notAnImage)),
                .unavailable(jobs[2].held),
            ])
            try await fixture.queue.workers.maintain(force: true)
            try await fixture.sql("UPDATE larder_data.scheduled SET run_at = now() - interval '1 s'")
            try await fixture.queue.workers.maintain(force: true)
            let last = try #require(try await worker.claim(upTo: 1).first)
            _ = try await worker.complete([Outcome(last.held, .failed(.notAnImage))])
            if round == 0 { #expect(try await fixture.queue.producer.retryFailed(of: .name("batch")) == 3) }
        }
        #expect(try await fixture.queue.producer.discardFailed(of: .name("batch")) == 4)
        try await fixture.queue.producer.seal(.name("batch"))
        let day = try await fixture.addDay("job_history", daysAgo: 41)
        try await fixture.queue.workers.maintain(force: true)
        #expect(try await fixture.value("SELECT to_regclass('larder_data.\(day)')") == nil)
        try await fixture.queue.operations.delete(.name("batch"))
        try await fixture.queue.workers.maintain(force: true)
        #expect(try await fixture.value("SELECT count(*) FROM larder_data.batch") == "0")
        try await fixture.queue.operations.unblockAll()
        try await fixture.expectSound()
    }
}

extension QueueFixture {
    /// Sets a default for new sessions of this database.
    func alterDatabase(_ setting: String, _ value: String) async throws {
        try await sql(
            "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET \(setting) = %L', current_database(), '\(value)'); END $$"
        )
    }

    /// Ends all sessions, also the one that this call uses: a pooler would give it to the next.
    func endSessions() async throws {
        // A session that starts has read the database's settings before pg_stat_activity lists it, and holds this lock
        // from before the one until after the other.
        let starting = """
            SELECT count(*) FROM pg_locks WHERE classid = 'pg_database'::regclass AND mode = 'RowExclusiveLock'
                AND objid = (SELECT oid FROM pg_database WHERE datname = current_database()) AND pid <> pg_backend_pid()
            """
        try #require(await reached { try await value(starting) == "0" })
        try await sql(
            """
            SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
            """)
        _ = try? await sql("SELECT pg_terminate_backend(pg_backend_pid())")
        await reconnect()
    }

    /// The day in so many days as it is in the name of a partition.
    func day(_ ahead: Int) async throws -> String {
        let day = try await value("SELECT to_char(now() AT TIME ZONE 'UTC' + \(ahead) * interval '1 day', 'YYYYMMDD')")
        return try #require(day)
    }
}
