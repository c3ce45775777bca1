import Foundation
import JobQueue
import TestSupport
import Testing

/// A worker that sleeps through its lease and wakes up: what it held is others' by then.
@Suite(.timeLimit(.minutes(5)))
struct ZombieTests {
    @Test func `a worker stopped for longer than its lease records and publishes nothing`()
        async throws
    {
        let scene = try await Scene()
        // The shortest lease there is: it must really pass, for the worker goes by its own clock.
        _ = try await scene.sql("UPDATE larder_data.settings SET lease_ms = 10000")
        let gate = OriginGate()
        let old = try Picture.bytes("plain.jpg")
        let new = try Picture.bytes("rgb.png")
        let urls = (0..<3).map { scene.origin.url("/\($0)") }
        for number in 0..<3 {
            let half = old.count / 2
            let head = OriginReply.head(200, [("Content-Length", "\(old.count)")])
            let slow = OriginReply([.bytes(head + old.prefix(half)), .wait(gate), .bytes(Array(old.dropFirst(half)))])
            // Whoever asks again gets another picture: that shows whose file is published.
            scene.origin.on("/\(number)", slow, .body(new))
        }
        _ = try await scene.larder(["enqueue", "--batch", "b", "--variant", Variants.small] + urls).run()
        let zombie = try scene.larder(["work"]).start()
        #expect(await zombie.reaches { _ in scene.origin.requests.count == 3 && scene.temporary.count >= 3 })
        zombie.signal(SIGSTOP)
        // Only the one that is stopped is meant to lose its lease, however slow the machine.
        _ = try await scene.sql("UPDATE larder_data.settings SET lease_ms = 600000")
        // All it needs to go on is there when it wakes up.
        gate.openUp()
        let second = try await scene.larder("work", "--drain", "--json")
        #expect(second.code == 0, "\(second.errorText)")
        #expect(try fields(try #require(second.lines.last))["succeeded"] as? Int == 3)
        let stored = scene.stored
        #expect(try await scene.sql("SELECT count(*) FROM larder.worker WHERE state = 'crashed'") == "1")

        zombie.signal(SIGCONT)
        // It finds out and begins anew, under a new number; then it has nothing to do.
        #expect(await zombie.reaches { _ in scene.holds("(SELECT count(*) FROM larder_data.worker) = 3") })
        #expect(await zombie.reaches { _ in scene.temporary.isEmpty })
        zombie.signal(SIGTERM)
        let outcome = await zombie.outcome()
        #expect(outcome.code == 0, "\(outcome.errorText)")
        #expect(scene.stored == stored)
        let jobs = try await scene.larder("report", "b", "--files", "--json").lines.map(JobLine.init)
        #expect(jobs.count == 3)
        for job in jobs { #expect(try scene.bytes(try #require(job.original).path) == new, "\(job.url)") }
        let records =
            "SELECT count(*) || ' ' || count(DISTINCT job_id) || ' ' || count(DISTINCT worker_id) || ' ' || max(rescues) FROM larder_data.job_history"
        #expect(try await scene.sql(records) == "3 3 1 1")
        let progress = try await scene.queue.progress(of: .name("b"))
        #expect(progress.total == 3 && progress.succeeded == 3 && progress.downloads == 3)
        #expect(try await scene.faults() == [])
    }
}
