import Concurrency
import EmbeddedPostgres
import Foundation
import JobQueue
import TestSupport
import Testing

/// Workers, transcoders and databases that end during their work: no job is lost or recorded twice, and no partial file
/// has a final name.
@Suite(.timeLimit(.minutes(5)))
struct DeathTests {
    /// Every stored file matches its record: originals have the served bytes, variants can be decoded.
    private func expectWhole(_ scene: Scene, batch: String, served: [String: [UInt8]]) async throws {
        let jobs = try await scene.larder("report", batch, "--files", "--json").lines.map(JobLine.init)
        #expect(jobs.count == served.count)
        var names: Set<String> = []
        for job in jobs {
            let original = try #require(job.original)
            #expect(try scene.bytes(original.path) == served[job.url], "\(job.url)")
            names.insert(String(original.path.dropFirst("default/".count)))
            for variant in job.variants {
                let path = try #require(variant.path)
                names.insert(String(path.dropFirst("default/".count)))
                let decoded = try await scene.larder(
                    "transform", "\(scene.cache)/\(path)", "-o", scene.directory.file(UUID().uuidString), "--variant",
                    #"{"name":"proof","transform":[{"type":"resize","width":4,"height":4}],"format":"png"}"#)
                #expect(decoded.code == 0, "\(path): \(decoded.errorText)")
            }
        }
        #expect(Set(scene.stored) == names, "nothing else has a real name")
    }

    @Test func `the jobs of a killed worker are completed once by the next worker`() async throws {
        let scene = try await Scene()
        let gate = OriginGate()
        var served: [String: [UInt8]] = [:]
        let names = ["plain.jpg", "rgb.png", "still.webp"]
        for number in 0..<9 {
            let image = try TestImage.bytes(names[number % names.count])
            served[scene.origin.url("/\(number)")] = image
            var reply = OriginReply.body(image)
            if number >= 3 {
                // The worker has half of the body when it is killed.
                let half = image.count / 2
                let head = OriginReply.head(200, [("Content-Length", "\(image.count)")])
                reply = OriginReply([
                    .bytes(head + image.prefix(half)), .wait(gate), .bytes(Array(image.dropFirst(half))),
                ])
            }
            scene.origin.on("/\(number)", reply, .body(image))
        }
        func enqueue(_ numbers: Range<Int>) async throws {
            let words = ["enqueue", "--batch", "b", "--open", "--variant", Variants.small]
            let outcome = try await scene.larder(words + numbers.map { scene.origin.url("/\($0)") }).run()
            #expect(outcome.code == 0)
        }
        try await enqueue(0..<3)
        let first = try scene.larder(["work"]).start()
        #expect(await first.reaches { _ in scene.holds("(SELECT count(*) FROM larder_data.job_history) = 3") })
        try await enqueue(3..<9)
        // Four connections per origin.
        #expect(await first.reaches { _ in scene.origin.requests.count == 7 && scene.temporary.count >= 4 })
        first.signal(SIGKILL)
        #expect(await first.outcome().signal == SIGKILL)
        gate.openUp()
        try await scene.queue.producer.seal(.name("b"))
        #expect(!scene.temporary.isEmpty, "it died with bodies half written")
        #expect(scene.stored.count == 6)

        let second = try await scene.larder("work", "--drain", "--json")
        #expect(second.code == 0, "\(second.errorText)")
        #expect(try fields(try #require(second.lines.last))["succeeded"] as? Int == 6)
        #expect(
            try await scene.sql("SELECT count(*) || ' ' || count(DISTINCT job_id) FROM larder_data.job_history")
                == "9 9")
        #expect(try await scene.sql("SELECT max(rescues) || ' ' || max(attempt) FROM larder_data.job_history") == "1 1")
        let progress = try await scene.queue.reports.progress(of: .name("b"))
        #expect(progress.total == 9)
        #expect(progress.succeeded == 9)
        #expect(progress.open == 0)
        #expect(try await scene.faults() == [])
        try await expectWhole(scene, batch: "b", served: served)
        // The next process that opens the cache removes temporary files of dead ones.
        #expect(scene.temporary == [])
    }

    @Test func `a killed transcoder costs one attempt`() async throws {
        let scene = try await Scene()
        let slow = try scene.serve("interlaced-large.png", at: "/slow.png")
        let variant = #"{"name":"big","transform":[{"type":"resize","width":4000,"height":4000}],"format":"png"}"#
        _ = try await scene.larder("enqueue", "--batch", "b", "--variant", variant, slow)
        let worker = try scene.larder(["work", "--drain", "--transcoders", "1"]).start()
        let cache = scene.cache
        let killed = await worker.reaches { worker in
            for child in Self.children(of: worker.processID) {
                // The child has the image when a file of the cache is open; while it is stopped, it cannot finish.
                guard Self.holdsFile(of: cache, child) else { continue }
                kill(child, SIGSTOP)
                if Self.holdsFile(of: cache, child) {
                    kill(child, SIGKILL)
                    return true
                }
                kill(child, SIGCONT)
            }
            return false
        }
        #expect(killed)
        let outcome = await worker.outcome()
        #expect(outcome.code == 0, "\(outcome.errorText)")
        #expect(outcome.errorText.contains("decision=retried"))
        #expect(outcome.errorText.contains("LarderErrorDomain 301"))
        #expect(try await scene.sql("SELECT outcome || ' ' || attempt FROM larder_data.job_history") == "succeeded 2")
        try await expectWhole(scene, batch: "b", served: [slow: try TestImage.bytes("interlaced-large.png")])
        #expect(scene.temporary == [])
        #expect(try await scene.faults() == [])
    }

    @Test func `a second killed transcoder makes the image poison and the worker continues`() async throws {
        let scene = try await Scene()
        let slow = try scene.serve("interlaced-large.png", at: "/slow.png")
        let good = try scene.serve("plain.jpg", at: "/good.jpg")
        let variant = #"{"name":"big","transform":[{"type":"resize","width":4000,"height":4000}],"format":"png"}"#
        let run = try scene.larder(["run", "--json", "--transcoders", "1", "--variant", variant, slow]).start()
        let killed = Locked<Set<Int32>>([])
        let cache = scene.cache
        _ = await run.reaches { run in
            for child in Self.children(of: run.processID) where Self.holdsFile(of: cache, child) {
                kill(child, SIGKILL)
                _ = killed.withLock { $0.insert(child) }
            }
            return false
        }
        let outcome = await run.outcome()
        #expect(killed.withLock { $0.count } == 2)
        #expect(outcome.code == 1)
        let lines = try RunLines(outcome)
        #expect(try lines.failure(slow).kind == "LarderErrorDomain 302")
        #expect(try lines.failure(slow).attempts == 2)
        #expect(scene.stored == [])
        #expect(scene.temporary == [])
        #expect(try RunLines(try await scene.larder("run", "--json", slow, good)).failure(slow).code == 1003)
    }

    @Test func `a worker continues after a restart of its database`() async throws {
        let scene = try await Scene()
        let home = try ClusterHome()
        let cluster = EmbeddedCluster(home.configuration("restarted", disposable: true))
        let url = try await cluster.start()
        func here(_ words: [String]) -> LarderCommand {
            var command = scene.larder(words)
            command.environment["LARDER_DATABASE_URL"] = url
            return command
        }
        #expect(try await here(["migrate"]).run().code == 0)
        // No heartbeat reaches the stopped server.
        try AdminSession(url).execute("UPDATE larder_data.settings SET lease_ms = 3600000")
        let gate = OriginGate()
        for number in 0..<3 {
            var reply = OriginReply.body(try TestImage.bytes("plain.jpg"))
            reply.steps.insert(.wait(gate), at: 0)
            scene.origin.on("/\(number)", reply)
        }
        _ = try await here(["enqueue", "--batch", "b"] + (0..<3).map { scene.origin.url("/\($0)") }).run()
        let worker = try here(["work", "--drain", "--slots", "2", "--json"]).start()
        await scene.origin.waitForRequests("/0")
        await scene.origin.waitForRequests("/1")
        try await cluster.stop()
        gate.openUp()
        #expect(
            await worker.reaches { String(decoding: $0.errorsSoFar, as: UTF8.self).contains("queue_unavailable") })
        _ = try await cluster.start()
        let outcome = await worker.outcome()
        #expect(outcome.code == 0, "\(outcome.errorText)")
        let errors = outcome.errorText.split(separator: "\n").filter { $0.contains("event=queue_") }
        #expect(errors.first?.contains("failures=1") == true, "\(errors)")
        #expect(errors.last?.contains("event=queue_available seconds=") == true, "\(errors)")
        #expect(try fields(try #require(outcome.lines.last))["succeeded"] as? Int == 3)
        let report = try ReportLine(try #require(try await here(["report", "b", "--json"]).run().lines.last))
        #expect(report.total == 3)
        #expect(report.succeeded == 3)
        #expect(report.downloads == 3)
        #expect(scene.origin.requests.count == 3, "nothing was done twice")
    }

    /// The processes whose parent is `process`.
    private static func children(of process: Int32) -> [Int32] {
        let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/task")) ?? []
        return tasks.flatMap { task in
            let list = (try? String(contentsOfFile: "/proc/\(process)/task/\(task)/children", encoding: .utf8)) ?? ""
            return list.split(separator: " ").compactMap { Int32($0) }
        }
    }

    /// Whether a transcoder has a file in `directory` open.
    private static func holdsFile(of directory: String, _ process: Int32) -> Bool {
        // Before `exec` a child has the descriptors of its parent.
        let words = (try? String(contentsOfFile: "/proc/\(process)/cmdline", encoding: .utf8)) ?? ""
        guard words.split(separator: "\0").first?.hasSuffix("/larder-transcoder") == true else { return false }
        guard let numbers = try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/fd") else {
            // Only root may see the descriptors of a transcoder. For others: one that works, or was stopped while it
            // did; between images it sleeps.
            let stat = (try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)) ?? ""
            return stat.split(separator: ")").last.map { $0.hasPrefix(" R") || $0.hasPrefix(" T") } ?? false
        }
        return numbers.contains { number in
            let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(process)/fd/\(number)")
            return target?.hasPrefix(directory + "/") ?? false
        }
    }
}
