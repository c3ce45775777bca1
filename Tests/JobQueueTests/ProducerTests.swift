import TestSupport
import Testing

@testable import JobQueue

/// What a producer can do with its own batches and pipelines, and what it sees and changes of another role's: nothing.
@Suite(.timeLimit(.minutes(5)))
struct ProducerTests {
    private struct Login {
        let name: String
        let session: Connection

        func refusal(of statement: String) async -> String? {
            do throws(QueueError) {
                _ = try await session.rows(statement)
                return nil
            } catch { return error.sqlState }
        }
    }

    private func producer(_ fixture: QueueFixture) async throws -> Login {
        let name = try await fixture.makeLogin()
        try await fixture.sql("GRANT larder_producer TO \(name)")
        let url = fixture.url(fixture.database.url, as: name)
        return Login(name: name, session: Connection(.init(databaseURL: url), name: "test-\(name)"))
    }

    @Test func `one login enqueues, follows, cancels, retries, and reads the paths of what it stored`() async throws {
        let fixture = try await QueueFixture.make()
        let login = try await producer(fixture)
        let mine = login.session
        _ = try await mine.rows("SELECT larder.pipeline_set('card', '{\"variants\": [{\"name\": \"small\"}]}')")
        _ = try await mine.rows(
            "SELECT larder.enqueue_many('{http://h/1,http://h/2,http://h/3,http://h/4}', batch => 'b', pipeline => 'card')"
        )
        #expect(try await mine.rows("SELECT url, state FROM larder.waiting WHERE batch = 'b'").count == 4)
        let worker = try await fixture.workerBySQL()
        let jobs = try await fixture.claimBySQL(worker, 1, upTo: 2)
        let stored = #"[{"path": "1", "key": "k"}, {"name": "small", "path": "2", "key": "s", "format": "webp"}]"#
        _ = try await fixture.completeBySQL(worker, 1, [jobs[0]], #""result": "succeeded", "stored": \#(stored)"#)
        let failure = #""result": "failed", "domain": "SDWebImageErrorDomain", "code": 1000"#
        _ = try await fixture.completeBySQL(worker, 1, [jobs[1]], failure)
        #expect(
            try await mine.rows("SELECT total, open, succeeded, failed FROM larder.progress WHERE batch = 'b'")
                == [["4", "2", "1", "1"]])
        #expect(
            try await mine.rows("SELECT variant, key, path, format FROM larder.stored_file WHERE batch = 'b'")
                == [[nil, "k", "1", nil], ["small", "s", "2", "webp"]])
        let lookup =
            "SELECT state, outcome, path FROM larder.lookup(ARRAY[(SELECT url FROM larder.record WHERE outcome = 'succeeded')], 'card')"
        #expect(try await mine.rows(lookup) == [["completed", "succeeded", "1"], ["completed", "succeeded", "2"]])
        #expect(try await mine.rows("SELECT code FROM larder.failed WHERE batch = 'b'") == [["1000"]])
        #expect(try await mine.rows("CALL larder.batch_retry_failed('b')") == [["1"]])
        let waiting = try await mine.rows("SELECT job_id FROM larder.waiting WHERE batch = 'b' ORDER BY job_id")
        #expect(waiting.count == 3)
        let last = waiting.last?[0] ?? ""
        #expect(try await mine.rows("SELECT larder.job_change(\(last), priority => 0)") == [["ready"]])
        #expect(try await mine.rows("SELECT larder.cancel(\(last))") == [["cancelled"]])
        #expect(try await mine.rows("SELECT larder.batch_cancel('b')") == [["2"]])
        _ = try await mine.rows("CALL larder.wait_batch('b')")
        try await fixture.expectServing()
        await mine.close()
    }

    @Test func `a producer sees no row of another role and changes nothing of it`() async throws {
        let fixture = try await QueueFixture.make()
        let (owner, other) = (try await producer(fixture), try await producer(fixture))
        let spec = #"'{"variants": []}'"#
        _ = try await owner.session.rows("SELECT larder.pipeline_set('card', \(spec))")
        _ = try await owner.session.rows(
            "SELECT larder.enqueue_many('{http://h/1?sig=SECRET,nothing}', batch => 'b', source => 'list')")
        let job = try #require(try await fixture.value("SELECT id FROM larder_data.job"))
        for call in [
            "larder.pipeline_set('card', '{\"variants\": [{}]}')", "larder.batch_source('b', 'list')",
            "larder.batch_source_end('b', 'list')", "larder.batch_seal('b')", "larder.batch_pause('b')",
            "larder.batch_resume('b')", "larder.batch_cancel('b')", "larder.batch_retry_portion('b')",
            "larder.batch_discard_portion('b')", "larder.batch_reprioritize_portion('b', 0)",
            "larder.batch_on_finished('b', 'https://evil.com')", "larder.enqueue('http://h/2', batch => 'b')",
            "larder.cancel(\(job))", "larder.retry(\(job))", "larder.discard(\(job))", "larder.job_status(\(job))",
            "larder.job_change(\(job), 0)",
        ] {
            #expect(await other.refusal(of: "SELECT \(call)") == "42501", "\(call)")
        }
        for view in ["progress", "record", "failed", "stored_file", "waiting"] {
            #expect(try await other.session.rows("SELECT * FROM larder.\(view)").isEmpty, "\(view)")
        }
        #expect(try await other.session.rows("SELECT jobs FROM larder.cancel_portion(url_like => '%')") == [["0"]])
        #expect(try await other.session.rows("SELECT items FROM larder.retry_portion()") == [[nil]])
        // Neither owner may cancel a shared job alone.
        _ = try await other.session.rows("SELECT larder.enqueue('http://h/1?sig=SECRET', batch => 'theirs')")
        #expect(await owner.refusal(of: "SELECT larder.cancel(\(job))") == "42501")
        #expect(try await owner.session.rows("SELECT larder.batch_cancel('b')") == [["1"]])
        try await fixture.expectServing()
        #expect(try await other.session.rows("SELECT url FROM larder.waiting").count == 1)
        for login in [owner, other] { await login.session.close() }
    }

    @Test func `a role that is renamed keeps its batches, and a new one of the old name has none of them`() async throws
    {
        let fixture = try await QueueFixture.make()
        let login = try await producer(fixture)
        _ = try await login.session.rows("SELECT larder.pipeline_set('card', '{\"variants\": []}')")
        _ = try await login.session.rows("SELECT larder.enqueue('http://h/1', batch => 'b')")
        await login.session.close()
        let renamed = login.name + "_renamed"
        try await fixture.sql("ALTER ROLE \(login.name) RENAME TO \(renamed)")
        try await fixture.sql("CREATE ROLE \(login.name) LOGIN IN ROLE larder_producer")
        let spec = #"larder.pipeline_set('card', '{"variants": [{}]}')"#
        for (name, refusal) in [(login.name, "42501"), (renamed, nil)] {
            #expect(try await fixture.refusal(of: "SELECT larder.batch_pause('b')", as: name) == refusal)
            #expect(try await fixture.refusal(of: "SELECT \(spec)", as: name) == refusal)
        }
        try await fixture.sql("DROP ROLE \(login.name)")
        try await fixture.sql("DROP ROLE \(renamed)")
        // No role has its rights any more; an operator may still act, and every view answers.
        try await fixture.expectServing()
        try await fixture.sql("SELECT larder.batch_cancel('b')")
    }
}
