import Glibc
import JobQueue
import TestSupport
import Testing

/// Worker processes: shared queues, shutdown, exit codes.
@Suite(.timeLimit(.minutes(5)))
struct WorkTests {
    @Test func `two workers share sixty images with exact totals`() async throws {
        let scene = try await Scene()
        let names = ["plain.jpg", "rgb.png", "still.webp", "still.gif", "orientation-6.jpg", "alpha.png"]
        // The origin answers after both workers have sent requests.
        let gate = OriginGate()
        var served: [String: [UInt8]] = [:]
        for number in 0..<60 {
            let image = try TestImage.bytes(names[number % names.count])
            var reply = OriginReply.body(image)
            reply.steps.insert(.wait(gate), at: 0)
            scene.origin.on("/\(number)", reply)
            served[scene.origin.url("/\(number)")] = image
        }
        let urls = (0..<60).map { scene.origin.url("/\($0)") }
        let list = urls.prefix(30).joined(separator: "\n")
        let byCommand = try await scene.larder(
            ["enqueue", "--batch", "spring", "--open"] + Variants.all + ["--from", "-"], input: list.utf8
        ).run()
        #expect(byCommand.code == 0)
        let array = urls.suffix(30).map { "'\($0)'" }.joined(separator: ", ")
        let inserted = try await scene.sql(
            """
            SELECT count(*) FROM larder.enqueue_many(ARRAY[\(array)], batch => 'spring') WHERE answer = 'inserted';
            """)
        #expect(inserted == "30")
        try await scene.queue.producer.seal(.name("spring"))

        let words = [
            "work", "--drain", "--parallel", "--json", "--slots", "8", "--transcoders", "1", "--idle-timeout", "60s",
        ]
        let workers = [try scene.larder(words).start(), try scene.larder(words).start()]
        // Four connections per origin and worker.
        #expect(await workers[0].reaches { _ in scene.origin.requests.count == 8 })
        gate.openUp()
        var succeeded = 0
        for worker in workers {
            let outcome = await worker.outcome()
            #expect(outcome.code == 0, "\(outcome.errorText)")
            let line = try fields(try #require(outcome.lines.last))
            #expect(outcome.lines.count == 1)
            #expect(line["left"] as? String == "nothing")
            let count = try #require(line["succeeded"] as? Int)
            #expect(count > 0)
            succeeded += count
        }
        #expect(succeeded == 60)
        #expect(try await scene.sql("SELECT count(DISTINCT worker_id) FROM larder_data.job_history") == "2")
        #expect(try await scene.sql("SELECT count(*) - count(DISTINCT job_id) FROM larder_data.job_history") == "0")
        #expect(scene.origin.requests.count == 60)
        let progress = try await scene.queue.reports.progress(of: .name("spring"))
        #expect(progress.total == 60)
        #expect(progress.finished == 60)
        #expect(progress.succeeded == 60)
        #expect(progress.downloads == 60)
        #expect(progress.variants == 180)
        #expect(try await scene.faults() == [])

        let files = try await scene.larder("report", "spring", "--files", "--json").lines.map(JobLine.init)
        #expect(files.count == 60)
        for job in files {
            #expect(try scene.bytes(job.original?.path) == served[job.url])
            #expect(job.variants.allSatisfy { $0.path != nil })
            #expect(job.variants.count == 3)
        }
        #expect(scene.stored.count == 240)
        #expect(scene.temporary == [])
    }

    @Test func `a second drain leaves the work to the first, says so and ends with exit code 0`() async throws {
        let scene = try await Scene()
        let gate = OriginGate()
        var reply = OriginReply.body(try TestImage.bytes("plain.jpg"))
        reply.steps.insert(.wait(gate), at: 0)
        scene.origin.on("/a", reply)
        _ = try await scene.larder("enqueue", scene.origin.url("/a"))
        let first = try scene.larder(["work", "--drain", "--quiet", "--idle-timeout", "60s"]).start()
        await scene.origin.waitForRequests("/a")
        let quiet = try await scene.larder("work", "--drain", "--quiet")
        #expect(quiet.code == 0, "\(quiet.errorText)")
        #expect(quiet.text == "", "\(quiet.errorText)")
        #expect(quiet.errorText == "", "\(quiet.errorText)")
        let second = try await scene.larder("work", "--drain")
        let note = "larder: another drain of queue default runs on this machine since "
        #expect(second.code == 0, "\(second.errorText)")
        #expect(second.errorText.contains(note), "\(second.errorText)")
        #expect(second.errorText.contains("process"))
        let asJSON = try await scene.larder("work", "--drain", "--json")
        #expect(asJSON.code == 0)
        #expect(try fields(try #require(asJSON.lines.last))["left"] as? String == "other")
        gate.openUp()
        let outcome = await first.outcome()
        #expect(outcome.code == 0, "\(outcome.errorText)")
        #expect(outcome.text == "", "\(outcome.errorText)")
        #expect(outcome.errorText == "", "\(outcome.errorText)")
        #expect(scene.origin.count("/a") == 1)
        // The first has ended.
        let third = try await scene.larder("work", "--drain")
        #expect(third.code == 0, "\(third.text)")
        #expect(third.text == "0 succeeded, 0 failed, 0 retried\n", "\(third.text)")
    }

    @Test func `a drain after one that was killed waits for its lease and does its work`() async throws {
        let scene = try await Scene()
        scene.origin.on("/a", .silent)
        _ = try await scene.larder("enqueue", scene.origin.url("/a"))
        let killed = try scene.larder(["work", "--drain"]).start()
        await scene.origin.waitForRequests("/a")
        killed.signal(SIGKILL)
        _ = await killed.outcome()
        scene.origin.on("/a", .body(try TestImage.bytes("plain.jpg")))
        let next = try await scene.larder("work", "--drain", "--json")
        #expect(try fields(try #require(next.lines.last))["succeeded"] as? Int == 1, "\(next.text) \(next.errorText)")
    }

    @Test func `with --quiet a night prints nothing when all is well, and one summary otherwise`() async throws {
        let scene = try await Scene()
        let url = try scene.serve("plain.jpg", at: "/a.jpg")
        let missing = scene.origin.url("/missing.jpg")
        for words in [
            ["enqueue", "--quiet", "--batch", "good", url], ["work", "--drain", "--quiet"],
            ["report", "good", "--quiet"], ["run", "--quiet", url],
        ] {
            let outcome = try await scene.larder(words).run()
            #expect(outcome.code == 0, "\(words) \(outcome)")
            #expect(outcome.text == "", "\(words) \(outcome)")
            #expect(outcome.errorText == "", "\(words) \(outcome)")
        }
        _ = try await scene.larder("enqueue", "--quiet", "--batch", "bad", url, missing)
        let work = try await scene.larder("work", "--drain", "--quiet")
        #expect(work.code == 1)
        #expect(work.text == "1 succeeded, 1 failed, 0 retried\n")
        #expect(work.errorText == "")
        #expect(try await scene.larder("report", "bad", "--quiet").text.contains(missing))
        let run = try await scene.larder("run", "--quiet", url, missing)
        #expect(run.code == 1, "\(run.errorText)")
        #expect(run.text.contains(missing), "\(run.errorText)")
        #expect(run.errorText == "", "\(run.errorText)")
    }

    @Test func `run prints no progress without a terminal`() async throws {
        let scene = try await Scene()
        let url = try scene.serve("plain.jpg", at: "/a.jpg")
        let outcome = try await scene.larder("run", url)
        #expect(outcome.code == 0, "\(outcome.errorText)")
        #expect(outcome.errorText == "", "\(outcome.errorText)")
    }

    @Test func `a drain with only later work ends with exit code 4`() async throws {
        let scene = try await Scene()
        let url = try scene.serve("plain.jpg", at: "/a.jpg")
        let later = try await scene.larder("enqueue", "--at", "+1h", url)
        #expect(later.code == 0)
        let outcome = try await scene.larder("work", "--drain", "--json")
        #expect(outcome.code == 4)
        #expect(try fields(try #require(outcome.lines.last))["left"] as? String == "later")
        #expect(outcome.errorText.contains("queue default: 1 job is due later, at 20"), "\(outcome.errorText)")
        _ = try await scene.larder("enqueue", "--at", "+2h", "http://a.example/1", "http://a.example/2")
        let three = try await scene.larder("work", "--drain", "--quiet").errorText
        #expect(three.contains("queue default: 3 jobs are due later, the first at 20"), "\(three)")
        #expect(scene.origin.requests.isEmpty)
    }

    @Test func `a drain does not wait for paused work and reports it`() async throws {
        let scene = try await Scene()
        let url = try scene.serve("plain.jpg", at: "/a.jpg")
        _ = try await scene.larder("enqueue", "--batch", "spring", url)
        for (hold, release) in [(["pause", "spring"], ["resume", "spring"]), (["pause", "--queue", "default"], [])] {
            _ = try await scene.larder(hold).run()
            let outcome = try await scene.larder("work", "--drain", "--json")
            #expect(outcome.code == 0)
            #expect(try fields(try #require(outcome.lines.last))["left"] as? String == "held")
            let printed = outcome.errorText.split(separator: "\n").filter { $0.hasPrefix("larder: ") }
            try #require(printed.count == 1)
            #expect(printed[0].contains("queue default"))
            #expect(printed[0].contains("'larder resume"))
            if !release.isEmpty { _ = try await scene.larder(release).run() }
        }
        let run = try await scene.larder("run", url)
        #expect(run.code == 1, "\(run.errorText)")
        #expect(run.errorText.contains("larder: 1 item left, held"), "\(run.errorText)")
        #expect(scene.origin.requests.isEmpty)
    }

    @Test func `a drain that reaches its time limit reports paused work, too`() async throws {
        let scene = try await Scene()
        let url = try scene.serve("plain.jpg", at: "/a.jpg")
        scene.origin.on("/never", .silent)
        _ = try await scene.larder("enqueue", "--batch", "spring", url)
        _ = try await scene.larder("pause", "spring")
        _ = try await scene.larder("enqueue", scene.origin.url("/never"))
        let outcome = try await scene.larder(
            "work", "--drain", "--json", "--max-runtime", "500ms", "--grace", "100ms")
        #expect(outcome.code == 3)
        #expect(try fields(try #require(outcome.lines.last))["left"] as? String == "work")
        #expect(outcome.errorText.contains("queue default has suspended jobs"), "\(outcome.errorText)")
    }

    @Test func `a run that is stopped while its batch is paused names the command that resumes it`() async throws {
        let scene = try await Scene()
        scene.origin.on("/never", .silent)
        let run = try scene.larder(["run", "--batch", "spring", "--grace", "50ms", scene.origin.url("/never")]).start()
        await scene.origin.waitForRequests("/never")
        #expect(try await scene.larder("pause", "spring").code == 0)
        run.signal(SIGINT)
        let outcome = await run.outcome()
        #expect(outcome.code == 1)
        #expect(
            outcome.errorText.contains("larder: 1 item left, held: 'larder resume' resumes a paused batch"),
            "\(outcome.errorText)")
    }

    @Test func `a drain waits for work that is due within seconds`() async throws {
        let scene = try await Scene()
        let url = try scene.serve("plain.jpg", at: "/a.jpg")
        _ = try await scene.larder("enqueue", "--at", "+1s", url)
        let outcome = try await scene.larder("work", "--drain")
        #expect(outcome.code == 0)
        #expect(scene.origin.count("/a.jpg") == 1)
    }

    @Test func `a drain of an empty queue ends, and failed jobs give exit code 1`() async throws {
        let scene = try await Scene()
        #expect(try await scene.larder("work", "--drain").code == 0)
        _ = try await scene.larder("enqueue", scene.origin.url("/missing.jpg"))
        let outcome = try await scene.larder("work", "--drain", "--json")
        #expect(outcome.code == 1)
        #expect(try fields(try #require(outcome.lines.last))["failed"] as? Int == 1)
    }

    @Test func `SIGTERM finishes running jobs and releases the others`() async throws {
        let scene = try await Scene()
        let gate = OriginGate()
        var reply = OriginReply.body(try TestImage.bytes("plain.jpg"))
        reply.steps.insert(.wait(gate), at: 0)
        for number in 1...3 { scene.origin.on("/\(number)", reply) }
        _ = try await scene.larder(["enqueue"] + (1...3).map { scene.origin.url("/\($0)") }).run()
        let worker = try scene.larder(["work", "--slots", "1"]).start()
        await scene.origin.waitForRequests("/1")
        worker.signal(SIGTERM)
        #expect(await worker.reaches { String(decoding: $0.errorsSoFar, as: UTF8.self).contains("event=stopping") })
        gate.openUp()
        let outcome = await worker.outcome()
        #expect(outcome.code == 0, "\(outcome.errorText)")
        #expect(scene.origin.requests.map(\.target) == ["/1"])
        #expect(try await scene.sql("SELECT count(*) FROM larder_data.ready") == "2")
        #expect(try await scene.sql("SELECT sum(attempt) FROM larder_data.job") == "0")
        #expect(try await scene.sql("SELECT string_agg(state, '') FROM larder.worker") == "stopped")
        #expect(try await scene.faults() == [])
    }

    @Test func `a stop during slow downloads loses no attempt and repeats no finished job`() async throws {
        let scene = try await Scene()
        let image = try TestImage.bytes("plain.jpg")
        let head = OriginReply.head(200, [("Content-Length", "\(image.count)")])
        // A byte every 2 ms, over four connections, two of which are taken by answers that never come.
        for number in 1...12 {
            scene.origin.on("/\(number)", OriginReply([.bytes(head), .drip(image, interval: .milliseconds(2))]))
        }
        for number in 1...2 { scene.origin.on("/\(number)", .silent) }
        _ = try await scene.larder(["enqueue", "--batch", "spring"] + (1...12).map { scene.origin.url("/\($0)") }).run()
        // Silence is no failure here: a failed attempt would count.
        let patience = ["--idle-timeout", "10m", "--total-timeout", "10m"]
        let worker = try scene.larder(["work", "--grace", "10m"] + patience).start()
        #expect(await worker.reaches { _ in scene.origin.requests.count >= 4 })
        worker.signal(SIGTERM)
        #expect(await worker.reaches { _ in scene.holds("(SELECT count(*) >= 3 FROM larder.record)") })
        // The end of the grace time.
        worker.signal(SIGTERM)
        let outcome = await worker.outcome()
        #expect(outcome.code == 0, "\(outcome.errorText)")
        #expect(!outcome.ranOutOfTime, "\(outcome.errorText)")
        let finished = try #require(try await scene.sql("SELECT string_agg(url, ' ') FROM larder.record"))
        #expect(try await scene.sql("SELECT count(*) FROM larder_data.running") == "0")
        #expect(try await scene.sql("SELECT sum(attempt) FROM larder_data.job") == "0", "refunded")

        for number in 1...2 { scene.origin.on("/\(number)", .body(image)) }
        #expect(try await scene.larder("work", "--drain").code == 0)
        for url in finished.split(separator: " ") {
            #expect(scene.origin.requests.filter { url.hasSuffix($0.target) }.count == 1, "\(url)")
        }
        let progress = try await scene.queue.reports.progress(of: .name("spring"))
        #expect(progress.total == 12)
        #expect(progress.succeeded == 12)
        #expect(progress.downloads == 12)
        #expect(try await scene.sql("SELECT max(attempts) FROM larder.record") == "1")
        #expect(try await scene.faults() == [])
    }

    @Test func `run that is ended by a signal prints how to continue`() async throws {
        let scene = try await Scene()
        scene.origin.on("/never", .silent)
        let words = [
            "run", "--batch", "stopped", "--grace", "50ms", "--cache", scene.cache, scene.origin.url("/never"),
        ]
        let run = try scene.larder(words).start()
        await scene.origin.waitForRequests("/never")
        run.signal(SIGINT)
        let outcome = await run.outcome()
        #expect(outcome.code == 1)
        let continues =
            "larder: stopped, 1 item left; this continues: larder work --drain --grace 50ms --cache \(scene.cache)\n"
        #expect(outcome.errorText.contains(continues), "\(outcome.errorText)")
        #expect(outcome.errorText.contains("larder: this cancels what is left: larder cancel stopped\n"))
    }

    @Test(arguments: [["--grace", "50ms"], []])
    func `jobs unfinished after the grace period are released with their attempt refunded`(grace: [String]) async throws
    {
        let scene = try await Scene()
        scene.origin.on("/never", .silent)
        let url = scene.origin.url("/never")
        _ = try await scene.larder("enqueue", url)
        let worker = try scene.larder(["work"] + grace).start()
        await scene.origin.waitForRequests("/never")
        worker.signal(SIGTERM)
        if grace.isEmpty {
            // A second signal ends the grace period.
            #expect(await worker.reaches { String(decoding: $0.errorsSoFar, as: UTF8.self).contains("event=stopping") })
            worker.signal(SIGTERM)
        }
        #expect(await worker.outcome().code == 0)
        #expect(try await scene.sql("SELECT count(*) FROM larder_data.ready") == "1")
        #expect(try await scene.sql("SELECT attempt + rescues + crashes FROM larder_data.job") == "0")
        #expect(scene.temporary == [])
        #expect(scene.stored == [])
        // Another worker claims the job at once.
        scene.origin.on("/never", .body(try TestImage.bytes("plain.jpg")))
        #expect(try await scene.larder("work", "--drain").code == 0)
        #expect(try await scene.faults() == [])
    }

    @Test func `the time limit ends a worker with exit code 3 and releases its jobs`() async throws {
        let scene = try await Scene()
        scene.origin.on("/never", .silent)
        _ = try await scene.larder("enqueue", scene.origin.url("/never"))
        let outcome = try await scene.larder(
            "work", "--drain", "--json", "--max-runtime", "500ms", "--grace", "100ms")
        #expect(outcome.code == 3)
        #expect(try fields(try #require(outcome.lines.last))["left"] as? String == "work")
        #expect(try await scene.sql("SELECT count(*) FROM larder_data.ready") == "1")
    }

    @Test func `the JSON log has one object per line without query and userinfo`() async throws {
        let scene = try await Scene()
        let url = try scene.serve("plain.jpg", at: "/a.jpg?token=s3cret")
        _ = try await scene.larder("enqueue", url)
        let outcome = try await scene.larder("work", "--drain", "--log-format", "json", "--log-level", "debug")
        let lines = try outcome.errorText.split(separator: "\n").map { try fields(String($0)) }
        let events = lines.compactMap { $0["event"] as? String }
        #expect(events.first == "started")
        #expect(events.contains("claimed"))
        #expect(events.contains("completed"))
        #expect(!outcome.errorText.contains("s3cret"))
    }
}
