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

    @Test func `a worker without the credential profile of a job leaves it to one that has it`() async throws {
        let scene = try await Scene()
        let urls = try (0..<10).map { try scene.serve("plain.jpg", at: "/\($0).jpg") }
        var request = EnqueueRequest(urls: urls, batch: "b")
        request.maxAttempts = 1
        request.context = #"{"credentials": "cdn"}"#
        _ = try await scene.queue.enqueue(request)
        let sick = try work(scene)
        #expect(await sick.reaches { _ in text(sick).contains("event=local_fault error=") }, "\(text(sick))")
        #expect(text(sick).contains("no credential profile 'cdn'"), "\(text(sick))")
        let profiles = scene.directory.file("profiles.json")
        let json = #"{"cdn": {"origins": ["\#(scene.origin.url(""))"], "headers": {"Authorization": "Bearer x"}}}"#
        try Data(json.utf8).write(to: URL(filePath: profiles))
        let healthy = try work(scene, options: ["--credentials", profiles])
        #expect(
            await healthy.reaches { _ in scene.holds("(SELECT count(*) FROM larder.record WHERE outcome = 1) = 10") })
        #expect(scene.origin.requests.allSatisfy { $0.headers["authorization"] == "Bearer x" })
        for worker in [sick, healthy] { worker.signal(SIGTERM) }
        for worker in [sick, healthy] { #expect(await worker.outcome().code == 0) }
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
}
