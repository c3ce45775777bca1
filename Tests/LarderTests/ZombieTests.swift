import Foundation
import JobQueue
import TestSupport
import Testing

/// A worker that is stopped for longer than its lease and continues.
@Suite(.timeLimit(.minutes(5)))
struct ZombieTests {
    @Test func `a worker stopped for longer than its lease records and publishes nothing`()
        async throws
    {
        let scene = try await Scene()
        // The shortest lease; it passes in real time, because the worker uses its own clock.
        _ = try await scene.sql("UPDATE larder_data.settings SET lease_ms = 10000")
        let gate = OriginGate()
        let old = try TestImage.bytes("plain.jpg")
        let new = try TestImage.bytes("rgb.png")
        let urls = (0..<3).map { scene.origin.url("/\($0)") }
        for number in 0..<3 {
            let half = old.count / 2
            let head = OriginReply.head(200, [("Content-Length", "\(old.count)")])
            let slow = OriginReply([.bytes(head + old.prefix(half)), .wait(gate), .bytes(Array(old.dropFirst(half)))])
            // A second request gets another image, which shows whose file was published.
            scene.origin.on("/\(number)", slow, .body(new))
        }
        _ = try await scene.larder(["enqueue", "--batch", "b", "--variant", Variants.small] + urls).run()
        let zombie = try scene.larder(["work"]).start()
        #expect(await zombie.reaches { _ in scene.origin.requests.count == 3 && scene.temporary.count >= 3 })
        zombie.signal(SIGSTOP)
        // Only the stopped worker may lose its lease, also on a slow machine.
        _ = try await scene.sql("UPDATE larder_data.settings SET lease_ms = 600000")
        // The stopped worker can complete its downloads when it continues.
        gate.openUp()
        let second = try await scene.larder("work", "--drain", "--json")
        #expect(second.code == 0, "\(second.errorText)")
        #expect(try fields(try #require(second.lines.last))["succeeded"] as? Int == 3)
        let stored = scene.stored
        #expect(try await scene.sql("SELECT count(*) FROM larder.worker WHERE state = 'lost'") == "1")

        zombie.signal(SIGCONT)
        // It registers again under a new number and then has nothing to do.
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
        let progress = try await scene.queue.reports.progress(of: .name("b"))
        #expect(progress.total == 3)
        #expect(progress.succeeded == 3)
        #expect(progress.downloads == 3)
        #expect(try await scene.faults() == [])
    }
}
