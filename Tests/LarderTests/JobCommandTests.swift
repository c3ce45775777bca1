import JobQueue
import TestSupport
import Testing

/// `status URL`, `prioritize --job`, and the options of `enqueue` about time and running jobs.
@Suite(.timeLimit(.minutes(5)))
struct JobCommandTests {
    private func line(_ scene: Scene, _ arguments: String...) async throws -> [String: Any] {
        let outcome = try await scene.larder(arguments + ["--json"]).run()
        try #require(outcome.code == 0, "\(outcome.text)\(outcome.errorText)")
        try #require(outcome.lines.count == 1, "\(outcome.text)")
        return try fields(outcome.lines[0])
    }

    @Test func `lookup prints the state of each URL, and key and path of what was stored`() async throws {
        let scene = try await Scene()
        let url = try scene.serve("plain.jpg", at: "/a.jpg"), later = scene.origin.url("/b.jpg")
        #expect(try await scene.larder("run", "--batch", "one", url).code == 0)
        _ = try await scene.larder("enqueue", "--at", "+1h", later)
        let found = try await line(scene, "status", url, url)
        #expect(found["state"] as? String == "completed")
        #expect(found["outcome"] as? String == "succeeded")
        #expect(found["url"] as? String == url)
        #expect(found["finishedAt"] is String)
        let file = try #require((found["files"] as? [[String: Any]])?.first)
        #expect(file["key"] as? String == url)
        #expect(file["variant"] is String == false)
        let path = try #require(file["path"] as? String)
        #expect(scene.stored.contains { path.hasSuffix($0) }, "\(scene.stored)")
        let text = try await scene.larder("status", later, "http://b.example/2.jpg", url).text
        #expect(
            text.hasPrefix("\(later)\tscheduled\nhttp://b.example/2.jpg\tunknown\n\(url)\tcompleted (succeeded)\t2"))
        #expect(text.hasSuffix("\n  original\t\(path)\t\(url)\n"), "\(text)")
        let list = try scene.directory.write("\(url)\n".utf8, to: "list")
        #expect(try await line(scene, "status", "--from", list, "--pipeline", "original")["job"] is Int)
        let refused = try await scene.larder("status", url, "--pipeline", "none", "--json")
        #expect(refused.code == 1)
        #expect(try refused.error.message.contains("none"))
    }

    @Test func `prioritize changes the priority and the time of a live job`() async throws {
        let scene = try await Scene()
        _ = try await scene.larder("enqueue", "--at", "+1h", scene.origin.url("/a.jpg"))
        let job = try #require(try await scene.sql("SELECT id FROM larder_data.job"))
        let kept = try await line(scene, "prioritize", "--job", job, "0")
        #expect(kept["job"] as? Int == Int(job))
        #expect(kept["state"] as? String == "scheduled")
        #expect(try await scene.sql("SELECT priority FROM larder_data.job") == "0")
        #expect(try await scene.larder("prioritize", "--job", job, "--at", "+2d").text == "job \(job): scheduled\n")
        #expect(try await scene.sql("SELECT run_at > now() + interval '47 h' FROM larder_data.scheduled") == "t")
        _ = try await scene.larder("prioritize", "--job", job, "--at", "2100-01-01T00:00:00Z")
        #expect(try await scene.sql("SELECT run_at = '2100-01-01Z' FROM larder_data.scheduled") == "t")
        #expect(try await line(scene, "prioritize", "--job", job, "--at", "+0s")["state"] as? String == "ready")
        let unknown = try await scene.larder("prioritize", "--job", "987654", "1", "--json")
        #expect(unknown.code == 1)
        #expect(try unknown.error.message.contains("987654"))
        #expect(try await scene.faults() == [])
    }

    @Test func `an item that has not started before --not-after ends as cancelled, unless its time is later`()
        async throws
    {
        let scene = try await Scene()
        _ = try await scene.larder("enqueue", "--batch", "a", "--not-after", "+0s", scene.origin.url("/a.jpg"))
        _ = try await scene.larder(
            "enqueue", "--batch", "b", "--not-after", "2100-01-01T00:00:00Z", try scene.serve("plain.jpg", at: "/b.jpg")
        )
        let list = try scene.directory.write(
            "{\"url\":\"\(scene.origin.url("/c.jpg"))\",\"priority\":1}".utf8, to: "l.jsonl")
        _ = try await scene.larder("enqueue", "--batch", "c", "--not-after", "+0s", "--from", list)
        #expect(try await scene.larder("work", "--drain").code == 0)
        let ends = "SELECT string_agg(batch || ' ' || succeeded || cancelled, ' ' ORDER BY batch) FROM larder.progress"
        #expect(try await scene.sql(ends) == "a 01 b 10 c 01")
        #expect(scene.origin.requests.count == 1)
        #expect(try await scene.faults() == [])
    }

    @Test func `with --on-running again a URL whose job runs is loaded again`() async throws {
        let scene = try await Scene()
        let url = scene.origin.url("/a.jpg")
        _ = try await scene.larder("enqueue", "--batch", "a", url)
        let worker = try await scene.worker(slots: 1)
        #expect(try await worker.claim(upTo: 1).count == 1)
        _ = try await scene.larder("enqueue", "--batch", "b", "--on-running", "again", url)
        _ = try await scene.larder("enqueue", "--batch", "c", "--on-running", "join", url)
        let again = "SELECT string_agg((again IS NOT NULL)::text, ' ' ORDER BY batch_id) FROM larder_data.job_item"
        #expect(try await scene.sql(again) == "true false")
    }

    @Test func `each run of a schedule has its own --not-after`() async throws {
        let scene = try await Scene()
        let set = ["schedule", "set", "nightly", "--cron", "@daily", scene.origin.url("/a.jpg"), "--not-after"]
        let refused = try await scene.larder(set + ["2100-01-01T00:00:00Z"]).run()
        #expect(refused.code == 2, "\(refused.errorText)")
        #expect(refused.errorText.contains("--not-after"), "\(refused.errorText)")
        #expect(try await scene.larder(set + ["+0s", "--on-running", "again"]).run().code == 0)
        #expect(try await scene.larder("enqueue", "--schedule", "nightly").code == 0)
        #expect(try await scene.larder("work", "--drain").code == 0)
        #expect(try await scene.sql("SELECT batch || ' ' || cancelled FROM larder.progress") == "nightly 1")
        #expect(scene.origin.requests.isEmpty)
    }

    @Test func `the limits of an origin are set, listed, shown while jobs wait for them, and removed`() async throws {
        let scene = try await Scene()
        let name = "http://127.0.0.1:\(scene.origin.port)"
        let set = try await line(scene, "origin", "set", scene.origin.url("/a.jpg"), "--max-running", "1")
        #expect(set["maxRunning"] as? Int == 1)
        #expect(set["maxRate"] is Double == false)
        _ = try await scene.larder("enqueue", scene.origin.url("/a.jpg"), scene.origin.url("/b.jpg"))
        let worker = try await scene.worker(slots: 2)
        #expect(try await worker.claim(upTo: 2).count == 1)
        let listed = try await line(scene, "status", "--origins")
        #expect(listed["origin"] as? String == name)
        #expect(listed["limit"] as? String == "max_running")
        #expect(listed["running"] as? Int == 1)
        #expect(listed["maxRunning"] as? Int == 1)
        _ = try await scene.sql("UPDATE larder_data.origin_limit SET next_slot = '2100-01-01Z' RETURNING 1")
        let health = try await scene.larder("status", "--health").text
        #expect(
            health.contains("info: an origin is at its limit: \(name), max_running is 1, jobs wait until 2100-01-01"))
        #expect(health.contains("'larder origin set \(name)'"), "\(health)")
        let text = "\(name)\t1 running\tat most 1 running\tat its limit (max_running)\tjobs wait until 2100-01-01"
        #expect(try await scene.larder("status", "--origins").text.hasPrefix(text))
        #expect(try await scene.larder("origin", "set", name, "--max-rate", "none").text == "1 origin: no limit\n")
        #expect(try await scene.larder("status", "--origins").text.isEmpty)
        #expect(try await scene.faults() == [])
    }

    @Test func `queue set creates a queue, changes what is given, and keeps the rest`() async throws {
        let scene = try await Scene()
        _ = try await scene.larder("enqueue", scene.origin.url("/a.jpg"))
        let made = try await line(scene, "queue", "set", "nightly", "--keep-history", "7d", "--order", "newest")
        #expect(made["queue"] as? String == "nightly")
        #expect(made["keepHistorySeconds"] as? Int == 7 * 86_400)
        #expect(made["order"] as? String == "newest")
        #expect(made["jobTimeoutSeconds"] as? Int == 600)
        let kept = try await line(scene, "queue", "set", "nightly", "--job-timeout", "5m", "--low-priority-every", "0")
        #expect(kept["keepHistorySeconds"] as? Int == 7 * 86_400)
        #expect(kept["order"] as? String == "newest")
        #expect(kept["jobTimeoutSeconds"] as? Int == 300)
        #expect(kept["lowPriorityEvery"] as? Int == 0)
        let text = try await scene.larder("status", "--queues").text
        #expect(text.contains("nightly\t0 running\tno limit\t0 items open\thistory kept 7 d\n"), "\(text)")
        #expect(try await scene.sql("SELECT keep_history = '7 days' FROM larder.queue WHERE queue = 'nightly'") == "t")
    }
}
