import Glibc
import ImageModel
import JobQueue
import TestSupport
import Testing

/// Two worker processes and origins that are held.
@Suite(.timeLimit(.minutes(5)))
struct OriginTests {
    private func workers(_ scene: Scene, _ ports: [UInt16], _ arguments: [String] = []) throws -> [RunningCommand] {
        try (0..<2).map { number in
            var command = scene.larder(["work", "--durability", "none"] + arguments)
            command.environment["LARDER_ALLOW_PORT"] = ports.map { "\($0)" }.joined(separator: ",")
            command.environment["LARDER_CACHE"] = scene.directory.file("cache\(number)")
            return try command.start()
        }
    }

    private func end(_ workers: [RunningCommand]) async {
        for worker in workers { worker.signal(SIGTERM) }
        for worker in workers { #expect(await worker.outcome().code == 0) }
    }

    @Test func `Retry-After holds an origin for all workers`() async throws {
        let scene = try await Scene()
        let image = OriginReply.body(try TestImage.bytes("rgb.png"))
        let paths = (0..<20).map { "/\($0).png" }
        for path in paths { scene.origin.on(path, image) }
        scene.origin.on("/first.png", .status(429, [("Retry-After", "2")]), image)
        // The other jobs are enqueued when the hold is recorded.
        _ = try await scene.queue.producer.enqueue(
            EnqueueRequest(urls: [scene.origin.url("/first.png")], batch: "first"))
        let workers = try workers(scene, [scene.origin.port])
        #expect(await workers[0].reaches { _ in scene.holds(Self.isHeldOrWas) })
        let urls = paths.map { scene.origin.url($0) }
        _ = try await scene.queue.producer.enqueue(EnqueueRequest(urls: urls, batch: "rest"))
        #expect(await workers[0].reaches { _ in scene.holds("NOT EXISTS (SELECT FROM larder_data.job)") })
        await end(workers)

        let times = scene.origin.requests.map(\.time)
        let sentAway = try #require(times.first)
        #expect(times.count == 22)
        #expect(try #require(times.dropFirst().min()) - sentAway >= .seconds(2))
        #expect(try await scene.sql("SELECT count(*) FROM larder.record WHERE outcome = 'succeeded'") == "21")
        // Only the job that got the 429 has used an attempt.
        #expect(try await scene.sql("SELECT sum(attempts - 1) FROM larder.record") == "1")
        #expect(try await scene.faults().isEmpty)
    }

    private static let isHeldOrWas =
        "EXISTS (SELECT FROM larder.held_origin WHERE reason = 'retry-after') OR NOT EXISTS (SELECT FROM larder_data.job)"

    @Test func `a held origin does not delay the jobs of another origin`() async throws {
        let scene = try await Scene()
        let other = try OriginServer()
        let image = OriginReply.body(try TestImage.bytes("rgb.png"))
        let paths = (0..<20).map { "/\($0).png" }
        for path in paths {
            scene.origin.on(path, image)
            other.on(path, image)
        }
        scene.origin.on("/first.png", .status(429, [("Retry-After", "600")]), image)
        _ = try await scene.queue.producer.enqueue(
            EnqueueRequest(urls: [scene.origin.url("/first.png")], batch: "first"))
        let workers = try workers(scene, [scene.origin.port, other.port])
        #expect(await workers[0].reaches { _ in scene.holds(Self.isHeldOrWas) })
        let urls = paths.map { scene.origin.url($0) } + paths.map { other.url($0) }
        _ = try await scene.queue.producer.enqueue(EnqueueRequest(urls: urls, batch: "rest"))
        #expect(
            await workers[0].reaches { _ in
                scene.holds("(SELECT count(*) FROM larder.record WHERE outcome = 'succeeded') = 20")
            })
        #expect(other.requests.count == 20)
        #expect(scene.origin.requests.count == 1)
        #expect(try await scene.sql("SELECT count(*) FROM larder_data.job") == "21")
        await end(workers)
        #expect(try await scene.faults().isEmpty)
    }

    @Test func `ten failures open the breaker for all workers and a probe closes it`() async throws {
        let scene = try await Scene()
        let paths = (0..<40).map { "/\($0).png" }
        for path in paths { scene.origin.on(path, .status(500)) }
        var request = EnqueueRequest(urls: paths.map { scene.origin.url($0) }, batch: "b")
        request.maxAttempts = 100
        request.retryBase = .milliseconds(1)
        _ = try await scene.queue.producer.enqueue(request)
        let workers = try workers(scene, [scene.origin.port], ["--slots", "2", "--breaker-open", "5s"])
        #expect(
            await workers[0].reaches { _ in
                // The workers exchange what they know every second.
                scene.holds(
                    """
                    EXISTS (SELECT FROM larder_data.origin_hold
                            WHERE reason = 'breaker' AND since < now() - interval '2 s')
                    AND NOT EXISTS (SELECT FROM larder_data.running)
                    """)
            })
        #expect(scene.origin.requests.count >= 10)

        // The origin works again, but the answer to the probe is delayed.
        let gate = OriginGate()
        let image = OriginReply.body(try TestImage.bytes("rgb.png"))
        for path in paths { scene.origin.on(path, OriginReply([.wait(gate)] + image.steps, keepsConnection: true)) }
        #expect(await workers[0].reaches { _ in gate.waiterCount > 0 })
        // Both workers may have begun at once. For three seconds they could send others.
        let later = try await scene.sql("SELECT now() + interval '3 s'")
        #expect(await workers[0].reaches { _ in scene.holds("now() > '\(later ?? "")'") })
        #expect(gate.waiterCount <= 2)
        gate.openUp()
        #expect(await workers[0].reaches { _ in scene.holds("NOT EXISTS (SELECT FROM larder_data.job)") })
        #expect(try await scene.sql("SELECT count(*) FROM larder.held_origin") == "0")
        #expect(try await scene.sql("SELECT count(*) FROM larder.record WHERE outcome = 'succeeded'") == "40")
        await end(workers)
        #expect(try await scene.faults().isEmpty)
    }

    @Test func `however many probes fail, the jobs of an origin wait, and a probe uses the attempt of one job`()
        async throws
    {
        let scene = try await Scene()
        let paths = (0..<30).map { "/\($0).png" }
        for path in paths { scene.origin.on(path, .status(500)) }
        var request = EnqueueRequest(urls: paths.map { scene.origin.url($0) }, batch: "b")
        request.maxAttempts = 100
        request.retryBase = .milliseconds(1)
        _ = try await scene.queue.producer.enqueue(request)
        let workers = try workers(scene, [scene.origin.port], ["--slots", "2", "--breaker-open", "500ms"])
        #expect(
            await workers[0].reaches { _ in
                scene.holds("EXISTS (SELECT FROM larder_data.origin_hold WHERE since < now() - interval '3 s')")
            })
        _ = try await scene.sql(
            "UPDATE larder_data.origin_hold SET since = since - interval '10 min' RETURNING origin_id")
        // Between two holds a probe is under way.
        let finding = "warning: an origin does not respond: http://127.0.0.1:"
        #expect(try await reached { try await scene.larder("status", "--health").text.contains(finding) })
        let image = OriginReply.body(try TestImage.bytes("rgb.png"))
        for path in paths { scene.origin.on(path, image) }
        #expect(await workers[0].reaches { _ in scene.holds("NOT EXISTS (SELECT FROM larder_data.job)") })
        await end(workers)
        #expect(try await scene.sql("SELECT count(*) FROM larder.record WHERE outcome = 'succeeded'") == "30")
        #expect(try await scene.sql("SELECT sum(attempts) FROM larder.record") == "\(scene.origin.requests.count)")
        #expect(try await scene.faults().isEmpty)
    }

    @Test func `with --breaker-probes the jobs of an origin that does not respond fail without requests`() async throws
    {
        let scene = try await Scene()
        let urls = (0..<60).map { scene.origin.url("/\($0).png") }
        for number in 0..<60 { scene.origin.on("/\(number).png", .status(500)) }
        let options = ["--slots", "2", "--retries", "0", "--breaker-failures", "3", "--breaker-probes", "0"]
        let outcome = try await scene.larder(["run", "--json"] + options + urls).run()
        #expect(outcome.code == 1)
        #expect(try RunLines(outcome).report.failed == 60)
        #expect(scene.origin.requests.count < 30)
    }

    @Test func `a job that runs when its origin is held succeeds, and its success lifts the breaker of others`()
        async throws
    {
        let scene = try await Scene()
        let gate = OriginGate()
        let image = OriginReply.body(try TestImage.bytes("rgb.png"))
        scene.origin.on("/a.png", OriginReply([.wait(gate)] + image.steps, keepsConnection: true))
        scene.origin.on("/b.png", image)
        _ = try await scene.queue.producer.enqueue(EnqueueRequest(urls: [scene.origin.url("/a.png")], batch: "a"))
        let workers = try workers(scene, [scene.origin.port])
        await scene.origin.waitForRequests("/a.png")
        let failure = FailureReason(domain: "NSURLErrorDomain", code: -1001, message: "")
        let report = OriginReport(
            origin: "http://127.0.0.1:\(scene.origin.port)",
            .opened(.seconds(600), failure, httpStatus: nil))
        // Two other workers have found the origin unreachable.
        for number in [1_001, 1_002] { try await scene.queue.workers.report([report], by: Int64(number)) }
        #expect(try await scene.queue.reports.heldOrigins().count == 1)
        _ = try await scene.queue.producer.enqueue(EnqueueRequest(urls: [scene.origin.url("/b.png")], batch: "b"))
        #expect(await workers[0].reaches { _ in scene.holds("NOT EXISTS (SELECT FROM larder_data.ready)") })
        gate.openUp()
        #expect(await workers[0].reaches { _ in scene.holds("NOT EXISTS (SELECT FROM larder.held_origin)") })
        try await scene.until("(SELECT count(*) FROM larder.record WHERE outcome = 'succeeded' AND attempts = 1) = 1")
        #expect(scene.origin.count("/a.png") == 1)
        await end(workers)
        #expect(try await scene.faults().isEmpty)
    }

    @Test func `a changed retry rule decides what counts against an origin`() async throws {
        let scene = try await Scene()
        _ = try await scene.sql(
            "UPDATE larder_data.retry_rule SET counts_for_origin = true WHERE code = 2001 AND http_status IS NULL RETURNING 1"
        )
        let paths = (0..<400).map { "/\($0).png" }
        for path in paths { scene.origin.on(path, .status(404)) }
        _ = try await scene.queue.producer.enqueue(EnqueueRequest(urls: paths.map { scene.origin.url($0) }, batch: "b"))
        let workers = try workers(scene, [scene.origin.port], ["--slots", "2"])
        #expect(
            await workers[0].reaches { _ in
                scene.holds("EXISTS (SELECT FROM larder.held_origin WHERE reason = 'breaker' AND http_status = 404)")
            })
        // A worker with failed jobs ends with 1.
        for worker in workers { worker.signal(SIGTERM) }
        var codes: Set<Int32?> = []
        for worker in workers { codes.insert(await worker.outcome().code) }
        #expect(codes.contains(1))
    }

    @Test func `status prints held origins while work is open`() async throws {
        let scene = try await Scene()
        let name = "http://127.0.0.1:\(scene.origin.port)"
        func status(_ words: String...) async throws -> CommandOutcome {
            try await scene.larder(["status"] + words).run()
        }
        _ = try await scene.larder("pause", "--origin", scene.origin.url("/"), "--for", "30m")
        let idle = try await status()
        #expect(idle.code == 0)
        #expect(idle.text.isEmpty)
        let health = try await status("--health")
        #expect(health.code == 0)
        #expect(health.text.hasPrefix("info: an origin is held: \(name), until 2"), "\(health.text)")
        #expect(health.text.contains("Z, operator (its jobs are scheduled for then; 'larder resume --origin \(name)' "))

        _ = try await scene.larder("enqueue", "--batch", "b", scene.origin.url("/a.png"))
        for text in try await [status().text, status("b").text] {
            #expect(text.contains("b (1): waiting, 0% 0/1"))
            #expect(text.contains("\norigin \(name) is held until 2"), "\(text)")
        }
        let cleared = try await scene.larder("resume", "--origin", scene.origin.url("/")).text
        #expect(cleared.hasPrefix("1 origin resumed\njobs of \(name) that were deferred run from 2"), "\(cleared)")
        _ = try await scene.larder("pause", "--origin", scene.origin.url("/"), "--for", "30m")
        // Every line is a batch.
        #expect(try await status("--json").lines.count == 1)
        #expect(try await status("b", "--json").lines.count == 1)
        let finding = try await status("--health", "--json").lines
        #expect(finding.contains { $0.contains("\"an origin is held\"") && $0.contains("\"info\"") }, "\(finding)")
    }
}
