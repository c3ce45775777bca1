import JobQueue
import TestSupport
import Testing

/// The commands that change batches, jobs and queues.
@Suite(.timeLimit(.minutes(5)))
struct ControlCommandTests {
    private func line(_ scene: Scene, _ arguments: String...) async throws -> [String: Any] {
        let outcome = try await scene.larder(arguments + ["--json"]).run()
        try #require(outcome.code == 0, "\(outcome.text)\(outcome.errorText)")
        try #require(outcome.lines.count == 1, "\(outcome.text)")
        return try fields(outcome.lines[0])
    }

    @Test func `cancel prints the number of cancelled items for a batch given by name or number`() async throws {
        let scene = try await Scene()
        let url = scene.origin.url("/a.jpg")
        _ = try await scene.larder("enqueue", "--batch", "spring", "--open", url, url, "nothing")
        let id = try #require(try await scene.sql("SELECT batch_id FROM larder.progress"))
        let cancelled = try await line(scene, "cancel", id)
        #expect(cancelled["batch"] as? String == "spring")
        #expect(cancelled["batchID"] as? Int == Int(id))
        #expect(cancelled["cancelled"] as? Int == 2)
        #expect(cancelled["state"] as? String == "cancelled")
        let again = try await scene.larder("cancel", "spring")
        #expect(again.code == 0)
        #expect(again.text == "batch spring (\(id)): 0 items cancelled, cancelled\n")
        let unknown = try await scene.larder("cancel", "summer", "--json")
        #expect(unknown.code == 1)
        #expect(try unknown.error.message.contains("summer"))
        #expect(try await scene.faults() == [])
    }

    @Test func `cancel stops a running job`() async throws {
        let scene = try await Scene()
        scene.origin.on("/slow.jpg", .silent)
        _ = try await scene.larder("enqueue", "--batch", "spring", scene.origin.url("/slow.jpg"))
        let worker = try scene.larder(["work", "--drain"]).start()
        let isRunning = await worker.reaches { _ in scene.holds("EXISTS (SELECT FROM larder.running)") }
        try #require(isRunning)
        let job = try #require(try await scene.sql("SELECT job_id FROM larder.running"))
        let printed = try await line(scene, "cancel", "--job", job)
        #expect(printed["job"] as? Int == Int(job))
        #expect(printed["result"] as? String == "requested")
        let outcome = await worker.outcome()
        #expect(outcome.code == 1 || outcome.code == 0, "\(outcome.errorText)")
        #expect(try await scene.sql("SELECT cancelled FROM larder.progress") == "1")
        #expect(try await line(scene, "cancel", "--job", job)["result"] as? String == "completed")
        let shown = try await line(scene, "status", "job:\(job)")
        #expect(shown["outcome"] as? String == "cancelled")
        #expect(shown["job"] as? Int == Int(job))
        #expect(try await scene.faults() == [])
    }

    @Test func `paused batches and queues run after resume`() async throws {
        let scene = try await Scene()
        _ = try await scene.larder("enqueue", "--batch", "spring", try scene.serve("plain.jpg", at: "/a.jpg"))
        #expect(try await line(scene, "pause", "spring")["state"] as? String == "paused")
        let queue = try await line(scene, "pause", "--queue", "default")
        #expect(queue["queue"] as? String == "default")
        #expect(queue["paused"] as? Bool == true)
        _ = try await scene.larder("work", "--drain")
        #expect(scene.origin.requests.isEmpty)
        #expect(try await line(scene, "resume", "--queue", "default")["paused"] as? Bool == false)
        #expect(try await line(scene, "resume", "spring")["state"] as? String == "sealed")
        #expect(try await scene.larder("work", "--drain").code == 0)
        #expect(try await scene.sql("SELECT succeeded FROM larder.progress") == "1")
        for words in [["pause", "--queue", "none"], ["resume", "none"], ["retry", "none"]] {
            let refused = try await scene.larder(words + ["--json"]).run()
            #expect(refused.code == 1)
            #expect(try refused.error.message.contains(words.last ?? ""))
        }
        #expect(try await scene.faults() == [])
    }

    @Test func `the limits of a queue are set and listed, and shown while jobs wait for them`() async throws {
        let scene = try await Scene()
        _ = try await scene.larder(
            "enqueue", "--batch", "spring", scene.origin.url("/a.jpg"), scene.origin.url("/b.jpg"))
        let set = try await line(scene, "queue", "set", "default", "--max-running", "1", "--max-rate", "0.5")
        #expect(set["queue"] as? String == "default")
        #expect(set["maxRunning"] as? Int == 1)
        #expect(set["maxRate"] as? Double == 0.5)
        let worker = try await scene.worker(slots: 2)
        #expect(try await worker.claim(upTo: 2).count == 1)
        let listed = try await line(scene, "status", "--queues")
        #expect(listed["running"] as? Int == 1)
        #expect(listed["limit"] as? String == "max_running")
        #expect(listed["ready"] as? Bool == true)
        #expect(listed["paused"] as? Bool == false)
        let limits = "at most 1 running, at most 0.5 per second"
        #expect(
            try await scene.larder("status", "--queues").text
                == "default\t1 running\t\(limits)\t2 items open\tat its limit (max_running)\n")
        let waiting = "queue default is at its limit (\(limits), 1 run), its ready jobs wait"
        #expect(try await scene.larder("status").text.contains(waiting))
        #expect(try await scene.larder("status", "--health").text.contains("info: a queue is at its limit: "))
        let unset = try await scene.larder("queue", "set", "default", "--max-rate", "none")
        #expect(unset.text.hasPrefix("default\t1 running\tno limit\t"), "\(unset.text)")
        #expect(try await worker.claim(upTo: 2).count == 1)
        let made = try await line(scene, "queue", "set", "nightly", "--max-rate", "3")
        #expect(made["maxRate"] as? Double == 3)
        #expect(try await scene.faults() == [])
    }

    @Test func `delete asks for confirmation, and deletes a finished batch with its records`() async throws {
        let scene = try await Scene()
        let url = try scene.serve("plain.jpg", at: "/a.jpg")
        #expect(try await scene.larder("run", "--batch", "spring", url).code == 0)
        _ = try await scene.larder("enqueue", "--batch", "open", scene.origin.url("/b.jpg"))
        let unsure = try await scene.larder("discard", "spring", "--delete")
        #expect(unsure.code == 2, "\(unsure.errorText)")
        #expect(unsure.errorText.contains("delete batch spring"), "\(unsure.errorText)")
        #expect(
            try await scene.larder("discard", "open", "--delete", "--yes").errorText.contains(
                "batch \"open\" is not finished"))
        #expect(try await scene.sql("SELECT count(*) FROM larder.progress") == "2")
        let deleted = try await line(scene, "discard", "spring", "--delete", "--yes")
        #expect(deleted["batch"] as? String == "spring")
        #expect(deleted["total"] as? Int == 1)
        #expect(deleted["deleted"] as? Bool == true)
        #expect(try await scene.larder("report", "spring").code == 1)
        #expect(try await scene.larder("discard", "spring", "--delete", "--yes").code == 1)
        #expect(scene.stored.count == 1, "the image stays")
        #expect(try await scene.faults() == [])
    }

    @Test func `retry runs failed items again and removes them from the report`() async throws {
        let scene = try await Scene()
        let url = scene.origin.url("/a.jpg")
        scene.origin.on("/a.jpg", .body(Array("no image".utf8)))
        #expect(try await scene.larder("run", "--batch", "spring", url).code == 1)
        scene.origin.on("/a.jpg", .body(try TestImage.bytes("plain.jpg")))
        let job = try #require(try await scene.sql("SELECT job_id FROM larder.failed"))
        let status = try await scene.larder("status", "--job", job)
        #expect(status.text.hasPrefix("job \(job): completed (failed), \(url)\n"))
        #expect(!status.text.contains("ErrorDomain"), "\(status.text)")
        #expect(try await line(scene, "retry", "spring")["retried"] as? Int == 1)
        #expect(try await line(scene, "retry", "spring")["retried"] as? Int == 0)
        #expect(try await scene.larder("work", "--drain").code == 0)
        let report = try ReportLine(try #require(try await scene.larder("report", "spring", "--json").lines.last))
        #expect(report.total == 1)
        #expect(report.succeeded == 1)
        #expect(report.failed == 0)
        #expect(report.failures.isEmpty)
        // The old number refers to the new job, which has succeeded.
        let over = try await scene.larder("retry", "--job", job, "--json")
        #expect(over.code == 1)
        #expect(try over.error.message.contains("succeeded"))
        #expect(try await scene.faults() == [])
    }

    @Test func `a retry by error takes only the items that failed with it`() async throws {
        let scene = try await Scene()
        let url = scene.origin.url("/a.jpg")
        scene.origin.on("/a.jpg", .body(Array("no image".utf8)))
        #expect(try await scene.larder("run", "--batch", "spring", url, scene.origin.url("/missing.jpg")).code == 1)
        func retried(_ error: String) async throws -> Int? {
            try await line(scene, "retry", "spring", "--error", error)["retried"] as? Int
        }
        #expect(try await retried("SDWebImageErrorDomain 9") == 0)
        #expect(try await retried("NSURLErrorDomain 1001") == 0)
        #expect(try await retried("SDWebImageErrorDomain 1001") == 1)
        #expect(try await scene.sql("SELECT string_agg(code::text, ' ') FROM larder.failed") == "2001")
        #expect(try await scene.sql("SELECT open || ' ' || failed FROM larder.progress") == "1 1")
        for words in [["spring", "--error", "2001"], ["--job", "1", "--error", "NSURLErrorDomain -1"]] {
            #expect(try await scene.larder(["retry"] + words).run().code == 2)
        }
    }

    @Test func `discarded failures are counted and not listed by report`() async throws {
        let scene = try await Scene()
        let url = scene.origin.url("/a.jpg")
        scene.origin.on("/a.jpg", .body(Array("no image".utf8)))
        #expect(try await scene.larder("run", "--batch", "spring", url, "nothing").code == 1)
        #expect(try await scene.larder("report", "spring").text.contains("  failed: 2\n"))
        #expect(try await line(scene, "discard", "spring")["discarded"] as? Int == 2)
        let text = try await scene.larder("report", "spring").text
        #expect(text.contains("  failed: 2, 2 of them discarded\n"), "\(text)")
        #expect(!text.contains("failures:"), "\(text)")
        #expect(try await scene.larder("report", "spring", "--format", "html").text.contains("All failures were"))
        let report = try fields(try #require(try await scene.larder("report", "spring", "--json").lines.last))
        #expect(report["failed"] as? Int == 2)
        #expect(report["discarded"] as? Int == 2)
        #expect((report["failures"] as? [Any])?.isEmpty == true)
    }

    @Test func `retry makes a scheduled job ready`() async throws {
        let scene = try await Scene()
        let url = "http://user:secret@127.0.0.1:\(scene.origin.port)/a.jpg"
        _ = try await scene.larder("enqueue", "--at", "+1h", url)
        let job = try #require(try await scene.sql("SELECT job_id FROM larder_data.scheduled"))
        let before = try await line(scene, "status", "--job", job)
        #expect(before["state"] as? String == "scheduled")
        #expect(before["due"] is String)
        #expect((before["url"] as? String)?.contains("secret") == false)
        #expect((before["attempts"] as? [Any])?.isEmpty == true)
        let retried = try await line(scene, "retry", "--job", job)
        #expect(retried["retriedAs"] as? Int == Int(job))
        #expect(try await line(scene, "status", "--job", job)["state"] as? String == "ready")
        let unknown = try await scene.larder("status", "--job", "987654", "--json")
        #expect(unknown.code == 1)
        #expect(try unknown.error.message.contains("987654"))
        #expect(try await scene.faults() == [])
    }

    @Test func `check prints violated invariants only`() async throws {
        let scene = try await Scene()
        _ = try await scene.larder("enqueue", scene.origin.url("/a.jpg"))
        let sound = try await scene.larder("check", "--json")
        #expect(sound.code == 0)
        #expect(sound.text == "")
        _ = try await scene.sql("WITH gone AS (DELETE FROM larder_data.ready RETURNING job_id) SELECT job_id FROM gone")
        let job = try await scene.sql("SELECT id FROM larder_data.job")
        let broken = try await scene.larder("check", "--json")
        #expect(broken.code == 1)
        let found = try fields(try #require(broken.lines.first))
        #expect(found["invariant"] as? String == "a live job has exactly one state")
        #expect((found["subject"] as? Int).map(String.init) == job)
        #expect(found["detail"] as? String == "none")
        let text = try await scene.larder("check")
        #expect(text.code == 1)
        #expect(text.text.hasPrefix("a live job has exactly one state: "))
    }
}
