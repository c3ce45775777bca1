import TestSupport
import Testing

@testable import JobQueue

/// Callers' values are checked where they enter: a bad value is cut, answered or refused, and stops no other caller.
@Suite(.timeLimit(.minutes(5)))
struct BorderTests {
    /// As many letters, which do not compress.
    private func letters(_ count: Int) -> String {
        var random = SplitMix64(seed: UInt64(count))
        return String(
            (0..<count).map { _ in "abcdefghijklmnopqrstuvwxyz0123456789".randomElement(using: &random) ?? "x" })
    }

    /// A queue whose first worker has claimed these URLs of batch b with claim 1.
    private func claimed(_ urls: Int = 2) async throws -> (fixture: QueueFixture, worker: String, jobs: [String]) {
        let fixture = try await QueueFixture.make()
        let list = (0..<urls).map { "'http://a/\($0)'" }.joined(separator: ", ")
        try await fixture.sql("SELECT FROM larder.enqueue_many(ARRAY[\(list)], batch => 'b')")
        let worker = try await fixture.workerBySQL()
        return (fixture, worker, try await fixture.claimBySQL(worker, 1))
    }

    @Test func `a result with an endless domain counts, and stops no counts`() async throws {
        let (fixture, worker, jobs) = try await claimed()
        let failed = #""result": "failed", "domain": "\#(letters(2_800))", "code": 1, "message": "\#(letters(9_000))""#
        #expect(try await fixture.completeBySQL(worker, 1, jobs, failed) == ["failed", "failed"])
        try await fixture.expectServing()
        let record = try await fixture.sql("SELECT DISTINCT length(domain), length(message) FROM larder.failed")
        #expect(record == [["200", "2000"]])
        #expect(try await fixture.sql("SELECT failed FROM larder.progress WHERE batch = 'b'") == [["2"]])
    }

    @Test(arguments: [
        (#""bytes_in": 9223372036854775807"#, "bytes_in", "2199023255552"),
        (#""bytes_in": 1e60"#, "bytes_in", "2199023255552"),
        (#""bytes_out": -1000"#, "bytes_out", "0"), (#""downloads": -5"#, "downloads", "0"),
        (#""variants": 40000"#, "variants", "2000"), (#""downloads": "Infinity""#, "downloads", "2000"),
    ])
    func `numbers out of range are moved into it, and all counts add up`(field: String, column: String, sum: String)
        async throws
    {
        let (fixture, worker, jobs) = try await claimed()
        let decisions = try await fixture.completeBySQL(worker, 1, jobs, #""result": "succeeded", \#(field)"#)
        #expect(decisions == ["succeeded", "succeeded"])
        try await fixture.expectServing()
        #expect(try await fixture.value("SELECT \(column) FROM larder.progress WHERE batch = 'b'") == sum)
    }

    @Test(arguments: [
        #"{"path": "x"}"#, #"[{"path": "y", "width": "12.5"}]"#, #"[{"path": "y", "height": -1}]"#, #"["y"]"#, "[[]]",
        "5",
        #"[{"path": "y", "bytes": 1e40}]"#,
    ])
    func `files that nothing can read are left out of a record, and the others of the batch are listed`(stored: String)
        async throws
    {
        let (fixture, worker, jobs) = try await claimed()
        let sound = try await fixture.completeBySQL(
            worker, 1, [jobs[0]], #""result": "succeeded", "stored": [{"path": "p", "width": 3}]"#)
        let unsound = try await fixture.completeBySQL(
            worker, 1, [jobs[1]], #""result": "succeeded", "stored": \#(stored)"#)
        #expect(sound + unsound == ["succeeded", "succeeded"])
        try await fixture.expectServing()
        #expect(try await fixture.sql("SELECT path, width FROM larder.stored_file") == [["p", "3"]])
    }

    @Test(arguments: [6_000, 256]) func `a URL whose host is too long is answered alone`(length: Int) async throws {
        let fixture = try await QueueFixture.make()
        let urls = "ARRAY['https://good.com/1.jpg', 'https://\(letters(length))/x.jpg', 'https://good.com/2.jpg']"
        let answers = try await fixture.answers(of: "enqueue_many(\(urls), batch => 'b')")
        #expect(answers == ["inserted", "invalid", "inserted"])
        try await fixture.expectServing()
    }

    @Test func `settings and metas that do not fit the URLs are refused, and invent no item`() async throws {
        let fixture = try await QueueFixture.make()
        let one = "'{\"batch\": \"b\"}', ARRAY['https://e.com/1.jpg']"
        let two = "ARRAY[NULL, '{\"priority\": 1}']::json[]"
        for arguments in [
            "\(one), settings => \(two)", "\(one), metas => \(two)", "'{}', NULL, settings => \(two)",
            "'{}', NULL, metas => \(two)", "'{}', '{}', settings => \(two)",
        ] {
            #expect(try await fixture.refusal(of: "SELECT FROM larder.enqueue_list(\(arguments))") == "22023")
        }
        #expect(try await fixture.value("SELECT coalesce(sum(total), 0) FROM larder.progress") == "0")
    }

    @Test(arguments: ["NULL", "0", "-1"]) func `a claim says how many jobs it takes`(most: String) async throws {
        let fixture = try await QueueFixture.make()
        let worker = try await fixture.workerBySQL()
        #expect(try await fixture.refusal(of: "SELECT larder.claim_v1(\(worker), 1, \(most))") == "22023")
    }

    @Test func `a claim that comes twice in one completion is refused as such`() async throws {
        let (fixture, worker, jobs) = try await claimed()
        let result = #"{"job": \#(jobs[0]), "claim": 1, "result": "succeeded"}"#
        let statement = "SELECT larder.complete_v1(\(worker), '[\(result), \(result)]')"
        #expect(try await fixture.refusal(of: statement) == "22023")
        #expect(try await fixture.completeBySQL(worker, 1, jobs) == ["succeeded", "succeeded"])
        try await fixture.expectServing()
    }

    @Test func `names have at most 200 bytes and no control characters`() async throws {
        let fixture = try await QueueFixture.make()
        for name in ["E'line1\\nline2\\x1b[31mred'", "E'\\u202eabc'", "'\(letters(201))'", "''"] {
            for call in [
                "SELECT larder.batch_open(\(name))", "SELECT larder.queue_set(\(name))",
                "SELECT larder.pipeline_set(\(name), '{\"variants\": []}')",
                "SELECT larder.enqueue('http://a/1', batch => \(name))",
                "SELECT larder.enqueue_many(ARRAY['http://a/1'], batch => 'b', source => \(name))",
            ] {
                #expect(try await fixture.refusal(of: call) == "22023", "\(call.prefix(80))")
            }
        }
    }

    @Test(arguments: [#"{"a": "\u0000"}"#, #"{"a": "\ud800"}"#, #"{"a": 1e999999}"#])
    func `JSON that nothing can read is refused, so that no task meets it`(json: String) async throws {
        let (fixture, worker, jobs) = try await claimed(1)
        for call in [
            "enqueue('http://a/0', batch => 'b', context => '\(json)', on_running => 'again')",
            "enqueue('http://a/0', batch => 'b', meta => '\(json)')",
        ] {
            let code = try await fixture.refusal(of: "SELECT larder.\(call)")
            #expect(code?.hasPrefix("22") == true, "\(call): \(code ?? "accepted")")
        }
        let pipeline = #"SELECT larder.pipeline_set('p', '{"variants": [\#(json)]}')"#
        #expect(try await fixture.refusal(of: pipeline) == "22023")
        #expect(try await fixture.completeBySQL(worker, 1, jobs) == ["succeeded"])
        try await fixture.expectServing()
    }

    @Test(arguments: [
        "'[1]'", "'{}'", "'{\"variants\": {}}'", "NULL", "('{\"variants\": [' || repeat('{},', 32) || '{}]}')::json",
    ])
    func `a pipeline has a list of at most 32 variants`(spec: String) async throws {
        let fixture = try await QueueFixture.make()
        #expect(try await fixture.refusal(of: "SELECT larder.pipeline_set('p', \(spec))") == "22023")
    }

    @Test func `a batch whose counts cannot be added up stops no other one, and health names it`() async throws {
        let (fixture, worker, jobs) = try await claimed()
        _ = try await fixture.completeBySQL(worker, 1, jobs)
        // As a defect of a later version might write them.
        try await fixture.sql(
            """
            INSERT INTO larder_data.batch_delta (batch_id, bytes_in)
            SELECT larder.batch_open('broken'), 9223372036854775807 FROM generate_series(1, 2)
            """)
        let failing = try await fixture.sql("SELECT task, error FROM larder.maintain(true) WHERE error IS NOT NULL")
        #expect(failing.isEmpty)
        #expect(
            try await fixture.value(
                "SELECT succeeded FROM larder_data.batch_total JOIN larder_data.batch b ON b.id = batch_id WHERE b.name = 'b'"
            )
                == "2")
        #expect(
            try await fixture.value("SELECT count(*) FROM larder.health WHERE what LIKE 'the counts of a batch%'")
                == "1")
    }
}
