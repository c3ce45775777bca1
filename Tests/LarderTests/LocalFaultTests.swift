import Foundation
import Glibc
import ImageModel
import JobQueue
import TestSupport
import Testing

/// A worker that lacks what every job needs, and a sound one in the same fleet.
@Suite(.timeLimit(.minutes(5)))
struct LocalFaultTests {
    /// Whether a process may have a network of its own, without any route.
    private static let mayUnshare = getuid() == 0 && access("/usr/bin/unshare", X_OK) == 0

    private func work(
        _ scene: Scene, in words: [String] = [], options: [String] = []
    ) throws -> RunningCommand {
        let words = words + [LarderCommand.executable, "work"] + options
        return try RunningCommand(words[0], Array(words.dropFirst()), environment: scene.environment, input: [])
    }

    @Test func `jobs whose credential profile is unknown are scheduled for later, and those behind them run`()
        async throws
    {
        let scene = try await Scene()
        func enqueue(_ count: Int, _ path: String, context: String?) async throws {
            let urls = try (0..<count).map { try scene.serve("plain.jpg", at: "/\(path)/\($0).jpg") }
            var request = EnqueueRequest(urls: urls, batch: "b")
            request.maxAttempts = 1
            request.context = context
            _ = try await scene.queue.producer.enqueue(request)
        }
        try await enqueue(200, "bad", context: #"{"credentials": "cdn"}"#)
        try await enqueue(50, "good", context: nil)
        let sick = try work(scene, options: ["--slots", "8"])
        #expect(
            await sick.reaches { _ in
                scene.holds(
                    """
                    (SELECT count(*) FROM larder.record WHERE outcome = 'succeeded') = 50
                    AND (SELECT count(*) = 200 AND count(DISTINCT run_at) > 100 FROM larder_data.scheduled)
                    """)
            }, "\(text(sick))")
        #expect(scene.origin.requests.allSatisfy { $0.target.hasPrefix("/good/") })
        let batch = try await scene.queue.reports.progress(of: .name("b"))
        #expect(batch.open == 200 && batch.retries == 0)
        #expect(try await scene.sql("SELECT count(*) FROM larder_data.job WHERE attempt = 0") == "200")
        #expect(try await scene.sql("SELECT count(*) FROM larder.held_origin") == "0")
        #expect(try await scene.sql("SELECT count(*) FROM larder_data.blocklist") == "0")
        #expect(
            await sick.reaches { _ in scene.holds("EXISTS (SELECT FROM larder.health WHERE detail LIKE '%''cdn''%')") })
        let lines = text(sick).split(separator: "\n").filter { $0.contains("event=local_fault ") }
        #expect(!lines.isEmpty && lines.count < 10, "\(lines)")
        #expect(
            lines.allSatisfy {
                $0.contains("profile=cdn batch=\(batch.id) ") && $0.contains("no credential profile 'cdn'")
            }, "\(lines)")
        sick.signal(SIGTERM)
        #expect(await sick.outcome().code == 0)

        let profiles = scene.directory.file("profiles.json")
        let json = #"{"cdn": {"origins": ["\#(scene.origin.url(""))"], "headers": {"Authorization": "Bearer x"}}}"#
        try Data(json.utf8).write(to: URL(filePath: profiles))
        _ = try await scene.sql("UPDATE larder_data.scheduled SET run_at = now()")
        let healthy = try work(scene, options: ["--credentials", profiles])
        #expect(
            await healthy.reaches { _ in
                scene.holds("(SELECT count(*) FROM larder.record WHERE outcome = 'succeeded') = 250")
            },
            "\(text(healthy))")
        healthy.signal(SIGTERM)
        #expect(await healthy.outcome().code == 0)
        #expect(
            scene.origin.requests.allSatisfy {
                $0.headers["authorization"] == ($0.target.hasPrefix("/bad/") ? "Bearer x" : nil)
            })
        #expect(try await scene.faults().isEmpty)
    }

    @Test(.enabled(if: access("/usr/bin/prlimit", X_OK) == 0, "needs prlimit"))
    func `a worker that has few descriptors left fails no job and is not ready, and works when it has more`()
        async throws
    {
        let scene = try await Scene()
        let worker = try work(scene, options: ["--listen", "127.0.0.1:0"])
        let port = try await ListeningWorker.port(of: worker)
        func jobs(_ count: Int, _ path: String) async throws {
            let urls = try (0..<count).map { try scene.serve("plain.jpg", at: "/\(path)/\($0).jpg") }
            var request = EnqueueRequest(urls: urls, batch: path)
            request.maxAttempts = 1
            _ = try await scene.queue.producer.enqueue(request)
        }
        func readiness() async throws -> ListeningWorker.Page { try await ListeningWorker.get(port, "/readyz") }
        func isSick() async throws -> Double? {
            try await ListeningWorker.get(port, "/metrics").value("larder_local_fault")
        }
        // What stays open is open then.
        try await jobs(1, "before")
        #expect(await worker.reaches { _ in scene.holds("(SELECT count(*) FROM larder.record) = 1") })
        #expect(try await readiness().status == 200)
        #expect(try await isSick() == 0)

        // Enough for probes and for the database, and for a download, too. What was open for a moment when the limit
        // was set counts as free later, so the limit is set again.
        try await Self.leaveDescriptors(8, to: worker.processID)
        try await jobs(20, "during")
        #expect(
            try await reached {
                try await Self.leaveDescriptors(8, to: worker.processID)
                let page = try await readiness()
                return page.status == 503 && page.text.contains("local fault: the process has too many open files")
            }, "\(text(worker))")
        #expect(try await isSick() == 1)
        let health = "EXISTS (SELECT FROM larder.health WHERE detail LIKE '%too many open files%')"
        #expect(await worker.reaches { _ in scene.holds(health) })
        #expect(try await scene.sql("SELECT count(*) FROM larder_data.job WHERE attempt > 0") == "0")
        #expect(try await scene.sql("SELECT count(*) FROM larder_data.job_attempt") == "0")
        #expect(try await scene.sql("SELECT count(*) FROM larder.record WHERE outcome <> 'succeeded'") == "0")
        #expect(try await scene.sql("SELECT count(*) FROM larder.held_origin") == "0")
        #expect(try await scene.sql("SELECT count(*) FROM larder_data.blocklist") == "0")

        try await Self.limitDescriptors(1024, of: worker.processID)
        #expect(
            await worker.reaches { _ in
                scene.holds("(SELECT count(*) FROM larder.record WHERE outcome = 'succeeded') = 21")
            })
        #expect(try await reached { try await readiness().status == 200 })
        #expect(try await isSick() == 0)
        #expect(await worker.reaches { _ in !scene.holds(health) })
        #expect(try await scene.sql("SELECT max(attempts) FROM larder.record") == "1")
        worker.signal(SIGTERM)
        #expect(await worker.outcome().code == 0)
        #expect(try await scene.faults().isEmpty)
    }

    /// Sets the soft limit of open files so low that a process can open `count` more.
    private static func leaveDescriptors(_ count: Int, to process: Int32) async throws {
        let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/fd").compactMap { Int($0) }
        let free = (0...).lazy.filter { !open.contains($0) }
        try await limitDescriptors(free.prefix(count).reduce(0) { max($0, $1) } + 1, of: process)
    }

    private static func limitDescriptors(_ limit: Int, of process: Int32) async throws {
        try await SystemTool.run(["prlimit", "--pid", "\(process)", "--nofile=\(limit):"])
    }

    private func text(_ work: RunningCommand) -> String { String(decoding: work.errorsSoFar, as: UTF8.self) }

    @Test(.enabled(if: mayUnshare, "needs to be root, and unshare"))
    func `a worker without a route fails no job, holds no origin, and leaves all jobs to a healthy one`() async throws {
        let scene = try await Scene()
        let urls = try (0..<60).map { try scene.serve("plain.jpg", at: "/\($0).jpg") }
        // The database is reached by a socket in the file system.
        let sick = try work(scene, in: ["/usr/bin/unshare", "-n", "--"])
        #expect(await sick.reaches { _ in text(sick).contains("event=started") }, "\(text(sick))")
        var request = EnqueueRequest(urls: urls, batch: "b")
        request.maxAttempts = 1
        _ = try await scene.queue.producer.enqueue(request)
        #expect(await sick.reaches { _ in text(sick).contains("event=local_fault error=") }, "\(text(sick))")
        #expect(text(sick).contains("no interface has a route"), "\(text(sick))")
        let healthy = try work(scene)
        #expect(
            await healthy.reaches { _ in
                scene.holds("(SELECT count(*) FROM larder.record WHERE outcome = 'succeeded') = 60")
            })
        #expect(try await scene.sql("SELECT count(*) FROM larder.held_origin") == "0")
        #expect(try await scene.sql("SELECT count(*) FROM larder_data.blocklist") == "0")
        for worker in [sick, healthy] { worker.signal(SIGTERM) }
        for worker in [sick, healthy] { #expect(await worker.outcome().code == 0) }
        #expect(try await scene.faults().isEmpty)
    }

    @Test(.enabled(if: mayUnshare && access("/usr/sbin/ip", X_OK) == 0, "needs to be root, unshare and ip"))
    func `a worker whose gateway is dead fails no job, and says so`() async throws {
        let scene = try await Scene()
        // No neighbour has the address of the gateway: EHOSTUNREACH for the only origin.
        let network = """
            ip link add here type veth peer name there && ip addr add 192.0.2.1/24 dev here && ip link set here up \
            && ip link set there up && ip route add default via 192.0.2.9 && exec "$@"
            """
        let sick = try work(scene, in: ["/usr/bin/unshare", "-n", "--", "/bin/sh", "-c", network, "sh"])
        #expect(await sick.reaches { _ in text(sick).contains("event=started") }, "\(text(sick))")
        _ = try await scene.queue.producer.enqueue(
            EnqueueRequest(urls: (1...40).map { "http://8.8.8.8/\($0).jpg" }, batch: "b"))
        #expect(await sick.reaches { _ in text(sick).contains("event=local_fault error=") }, "\(text(sick))")
        #expect(text(sick).contains("the gateway 192.0.2.9 does not answer"), "\(text(sick))")
        #expect(
            await sick.reaches { _ in
                scene.holds("EXISTS (SELECT FROM larder.health WHERE detail LIKE '%the gateway 192.0.2.9%')")
            })
        sick.signal(SIGTERM)
        #expect(await sick.outcome().code == 0)
        #expect(try await scene.sql("SELECT count(*) FROM larder.record") == "0")
        #expect(try await scene.sql("SELECT count(*) FROM larder_data.job WHERE attempt > 0") == "0")
        #expect(try await scene.sql("SELECT count(*) FROM larder.held_origin") == "0")
        #expect(try await scene.sql("SELECT count(*) FROM larder_data.blocklist") == "0")
        #expect(try await scene.faults().isEmpty)
    }
}
