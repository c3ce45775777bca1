import Foundation
import JobQueue
import TestSupport
import Testing

/// The workers of examples/, which use the worker protocol only.
@Suite(.timeLimit(.minutes(5)))
struct ExampleWorkerTests {
    /// Starts an example worker in the background.
    private func start(_ program: String, _ arguments: [String], in scene: Scene) throws -> RunningCommand {
        try RunningCommand(
            "\(PackageRoot.path)/examples/\(program)", arguments,
            environment: ["DATABASE_URL": scene.database.url, "PATH": "/usr/bin:/bin"], input: [])
    }

    private func enqueue(_ urls: [String], in scene: Scene) async throws {
        let list = urls.map { "'\($0)'" }.joined(separator: ",")
        _ = try await scene.sql(
            "SELECT count(*) FROM larder.enqueue_many(ARRAY[\(list)], batch => 'example', retry_base => '1 ms')")
    }

    /// Counts of the batch: `total/succeeded/failed/retries`.
    private func counts(in scene: Scene) async throws -> String? {
        try await scene.sql(
            "SELECT concat_ws('/', total, succeeded, failed, retries) FROM larder.progress WHERE batch = 'example'")
    }

    /// The state of the queue after a worker has ended.
    private func expectSound(_ scene: Scene) async throws {
        #expect(try await scene.queue.reports.check().isEmpty)
        #expect(try await scene.sql("SELECT string_agg(state || running, ' ') FROM larder.worker") == "stopped0")
    }

    @Test func `the bash worker completes all jobs with their retries and ends`() async throws {
        let scene = try await Scene()
        try await enqueue((1...25).map { "http://example.com/\($0)" }, in: scene)
        let list = scene.directory.file("done")
        let command = #"echo "$2" >> "$1"; case $2 in */5) exit 1;; esac"#
        let outcome = try await start("worker.sh", ["sh", "-c", command, "job", list], in: scene).outcome()
        #expect(outcome.code == 0, "\(outcome.errorText)")
        #expect(outcome.errorText.isEmpty, "\(outcome.errorText)")
        #expect(try await counts(in: scene) == "25/24/1/3")
        let done = try String(contentsOfFile: list, encoding: .utf8).split(separator: "\n")
        #expect(done.count == 28, "once each, the bad one four times")
        #expect(Set(done).count == 25, "once each, the bad one four times")
        try await expectSound(scene)
    }

    @Test(arguments: ["worker.sh", "worker.py"])
    func `a worker fails a job whose URL was blocked after it was enqueued, without a request`(
        program: String
    ) async throws {
        let scene = try await Scene()
        let url = scene.origin.url("/blocked")
        scene.origin.on("/blocked", .body(Array("image".utf8)))
        try await enqueue([url], in: scene)
        _ = try await scene.sql("SELECT larder.block_many(ARRAY['\(url)'], '1 hour')")
        let target = scene.directory.file("target")
        let arguments = program == "worker.sh" ? ["sh", "-c", #"touch "$1""#, "job", target] : [target]
        let outcome = try await start(program, arguments, in: scene).outcome()
        #expect(outcome.code == 0, "\(outcome.errorText)")
        #expect(outcome.errorText.isEmpty, "\(outcome.errorText)")
        #expect(
            try await scene.sql("SELECT concat_ws(' ', domain, code, attempts) FROM larder.failed")
                == "SDWebImageErrorDomain 1003 1")
        #expect(scene.origin.requests.isEmpty)
        #expect(program == "worker.py" || !FileManager.default.fileExists(atPath: target))
        try await expectSound(scene)
    }

    @Test func `workers in both languages complete all jobs while transactions are serializable by default`()
        async throws
    {
        let scene = try await Scene()
        _ = try await scene.sql(
            """
            DO $$ BEGIN
                EXECUTE format('ALTER DATABASE %I SET default_transaction_isolation = serializable', current_database());
            END $$
            """)
        for number in 1...120 { scene.origin.on("/\(number)", .body(Array("image".utf8))) }
        try await enqueue((1...120).map { scene.origin.url("/\($0)") }, in: scene)
        let workers = try [
            start("worker.py", [scene.directory.file("a")], in: scene),
            start("worker.py", [scene.directory.file("b")], in: scene),
            start("worker.sh", ["true"], in: scene), start("worker.sh", ["true"], in: scene),
        ]
        for worker in workers {
            let outcome = await worker.outcome()
            #expect(outcome.code == 0, "\(outcome.errorText)")
            #expect(outcome.errorText.isEmpty, "\(outcome.errorText)")
        }
        #expect(try await counts(in: scene) == "120/120/0/0")
        #expect(try await scene.queue.reports.check().isEmpty)
        #expect(try await scene.sql("SELECT bool_and(state = 'stopped' AND running = 0) FROM larder.worker") == "t")
    }

    @Test func `the bash worker without a command prints its usage`() async throws {
        let scene = try await Scene()
        try await enqueue(["/bin/true"], in: scene)
        let outcome = try await start("worker.sh", [], in: scene).outcome()
        #expect(outcome.code == 2)
        #expect(outcome.errorText.hasPrefix("usage: "))
        #expect(try await scene.sql("SELECT count(*) FROM larder.worker") == "0")
    }

    @Test func `the bash worker finishes its running job on SIGTERM and releases the others`() async throws {
        let scene = try await Scene()
        try await enqueue((1...25).map { "http://example.com/\($0)" }, in: scene)
        let (started, go) = (scene.directory.file("started"), scene.directory.file("go"))
        let command = #"touch "$1"; until [ -e "$2" ]; do sleep 0.02; done"#
        let worker = try start("worker.sh", ["sh", "-c", command, "job", started, go], in: scene)
        #expect(await worker.reaches { _ in FileManager.default.fileExists(atPath: started) })
        worker.signal(SIGTERM)
        try scene.directory.write("".utf8, to: "go")
        #expect(await worker.outcome().code == 0)
        #expect(try await counts(in: scene) == "25/1/0/0")
        #expect(try await scene.sql("SELECT count(*) FROM larder_data.ready") == "24")
        try await expectSound(scene)
    }

    @Test func `the Python worker downloads all URLs and records failures`() async throws {
        let scene = try await Scene()
        for number in 1...20 { scene.origin.on("/\(number)", .body(Array("image \(number)".utf8))) }
        scene.origin.on("/busy", .status(503), .status(503), .body(Array("late".utf8)))
        let targets = (1...20).map { "/\($0)" } + ["/busy", "/missing"]
        try await enqueue(targets.map { scene.origin.url($0) }, in: scene)
        let outcome = try await start("worker.py", [scene.directory.file("images")], in: scene).outcome()
        #expect(outcome.code == 0, "\(outcome.errorText)")
        #expect(outcome.errorText.isEmpty, "\(outcome.errorText)")
        #expect(try await counts(in: scene) == "22/21/1/2")
        let stored = try TemporaryDirectory.names(in: scene.directory.file("images"))
        #expect(stored.count == 21, "\(stored)")
        #expect(stored.allSatisfy { $0.count == 64 }, "\(stored)")
        #expect(
            try await scene.sql("SELECT concat_ws(' ', domain, code, http_status, attempts) FROM larder.failed")
                == "SDWebImageErrorDomain 2001 404 1")
        try await expectSound(scene)
    }

    @Test func `the Python worker finishes its running jobs on SIGTERM and releases the others`() async throws {
        let scene = try await Scene()
        let gate = OriginGate()
        let bytes = OriginReply.body(Array("image".utf8)).steps
        for number in 1...25 { scene.origin.on("/\(number)", OriginReply([.wait(gate)] + bytes)) }
        try await enqueue((1...25).map { scene.origin.url("/\($0)") }, in: scene)
        let worker = try start("worker.py", [scene.directory.file("images")], in: scene)
        await scene.origin.waitForRequests("/1")
        worker.signal(SIGTERM)
        gate.openUp()
        let outcome = await worker.outcome()
        #expect(outcome.code == 0, "\(outcome.errorText)")
        #expect(outcome.errorText.isEmpty, "\(outcome.errorText)")
        #expect(try await counts(in: scene) == "25/8/0/0", "one claim of eight, and no other")
        #expect(try await scene.sql("SELECT count(*) FROM larder_data.ready") == "17")
        try await expectSound(scene)
    }
}

extension TemporaryDirectory {
    fileprivate static func names(in path: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: path)
    }
}
