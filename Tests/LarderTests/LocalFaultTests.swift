import Foundation
import Glibc
import ImageModel
import JobQueue
import TestSupport
import Testing

/// A worker that lacks what every job needs beside one that does not.
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
            _ = try await scene.queue.enqueue(request)
        }
        try await enqueue(200, "bad", context: #"{"credentials": "cdn"}"#)
        try await enqueue(50, "good", context: nil)
        let sick = try work(scene, options: ["--slots", "8"])
        #expect(
            await sick.reaches { _ in
                scene.holds(
                    """
                    (SELECT count(*) FROM larder.record WHERE outcome = 1) = 50
                    AND (SELECT count(*) = 200 AND count(DISTINCT run_at) > 100 FROM larder_data.scheduled)
                    """)
            }, "\(text(sick))")
        #expect(scene.origin.requests.allSatisfy { $0.target.hasPrefix("/good/") })
        let batch = try await scene.queue.progress(of: .name("b"))
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
            await healthy.reaches { _ in scene.holds("(SELECT count(*) FROM larder.record WHERE outcome = 1) = 250") },
            "\(text(healthy))")
        healthy.signal(SIGTERM)
        #expect(await healthy.outcome().code == 0)
        #expect(
            scene.origin.requests.allSatisfy {
                $0.headers["authorization"] == ($0.target.hasPrefix("/bad/") ? "Bearer x" : nil)
            })
        #expect(try await scene.faults().isEmpty)
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
        _ = try await scene.queue.enqueue(request)
        #expect(await sick.reaches { _ in text(sick).contains("event=local_fault error=") }, "\(text(sick))")
        #expect(text(sick).contains("no interface has a route"), "\(text(sick))")
        let healthy = try work(scene)
        #expect(
            await healthy.reaches { _ in scene.holds("(SELECT count(*) FROM larder.record WHERE outcome = 1) = 60") })
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
        _ = try await scene.queue.enqueue(
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
