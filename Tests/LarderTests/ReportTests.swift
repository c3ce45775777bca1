import Foundation
import Glibc
import TestSupport
import Testing

/// The output of status, report and doctor.
@Suite(.timeLimit(.minutes(5)))
struct ReportTests {
    @Test func `status prints batches newest first, or one by name or number`() async throws {
        let scene = try await Scene()
        let url = try scene.serve("plain.jpg", at: "/a.jpg")
        _ = try await scene.larder("run", "--batch", "first", url)
        _ = try await scene.larder("enqueue", "--batch", "second", url)
        let all = try await scene.larder("status", "--json").lines.map(fields)
        #expect(all.map { $0["batch"] as? String } == ["second", "first"])
        #expect(all.map { $0["state"] as? String } == ["sealed", "finished"])
        let byName = try await scene.larder("status", "first", "--json").lines.map(fields)
        let byNumber = try await scene.larder("status", "1", "--json").lines.map(fields)
        #expect(byName.map { $0["batchID"] as? Int } == [1])
        #expect(byNumber.map { $0["batch"] as? String } == ["first"])
        let text = try await scene.larder("status")
        #expect(text.text.hasPrefix("second (2): waiting, 0% 0/1\nfirst (1): finished, 100% 1/1"))
    }

    @Test func `status prints rate, durations and errors, null while unknown`() async throws {
        let scene = try await Scene()
        _ = try await scene.larder("enqueue", "--batch", "b", "http://a.example/1", "nothing")
        func status() async throws -> [String: Any] {
            try fields(try #require(try await scene.larder("status", "b", "--json").lines.first))
        }
        let fresh = try await status()
        #expect(fresh["rate"] is Double)
        #expect(fresh["p50Ms"] is NSNull)
        #expect(fresh["p95Ms"] is NSNull)
        _ = try await scene.sql(
            """
            WITH durations AS (
                INSERT INTO larder_data.batch_delta (batch_id, jobs, duration_class) SELECT id, 4, 10 FROM larder_data.batch)
            INSERT INTO larder_data.batch_delta (batch_id, total, failed, blocked, code, domain)
            SELECT id, 7, 7, 7, 404, 'SomeDomain' FROM larder_data.batch
            """)
        let later = try await status()
        #expect(later["p50Ms"] as? Double == 38.1)
        #expect((later["etaSeconds"] is NSNull || later["etaSeconds"] is Double))
        let errors = try #require(later["topErrors"] as? [[String: Any]])
        #expect(errors.contains { $0["domain"] as? String == "SomeDomain" && $0["items"] as? Int == 7 })
        let text = try await scene.larder("status", "b").text
        #expect(text.contains("p50 38.1 ms, p95 44.5 ms\n  errors: 7 × SomeDomain 404"))
    }

    @Test func `status --health prints findings and fails for an error`() async throws {
        let scene = try await Scene()
        let well = try await scene.larder("status", "--health")
        #expect(well.code == 0)
        #expect(well.text == "nothing is wrong\n")
        _ = try await scene.sql("UPDATE larder_data.queue SET paused_at = now()")
        #expect(try await scene.larder("status", "--health").code == 0)
        _ = try await scene.sql(
            "UPDATE larder_data.maintenance SET failed_at = now(), last_error = 'XX000: oh' WHERE task = 'counts'")
        let ill = try await scene.larder("status", "--health", "--json")
        #expect(ill.code == 1)
        #expect(try ill.lines.map { try fields($0)["severity"] as? String } == ["error", "info"])
        let doctor = try await scene.larder("doctor")
        #expect(doctor.code == 1)
        #expect(doctor.text.contains("FAIL health: maintenance task fails: counts"))
        #expect(try await scene.larder("status", "b", "--health").code == 2)
    }

    @Test func `status --watch ends with its reader though nothing changes`() async throws {
        let scene = try await Scene()
        _ = try await scene.larder("enqueue", "--batch", "b", "--at", "+1h", scene.origin.url("/a.jpg"))
        let outcome = try await scene.shell("larder status b --watch --interval 1h | head -1")
        #expect(outcome.code == 0, "\(outcome.errorText)")
        #expect(outcome.lines.count == 1, "\(outcome.errorText)")
        #expect(outcome.errorText.isEmpty, "\(outcome.errorText)")
    }

    @Test func `status --watch follows a batch until it is finished`() async throws {
        let scene = try await Scene()
        let gate = OriginGate()
        for number in 0..<2 {
            var reply = OriginReply.body(try TestImage.bytes("plain.jpg"))
            if number == 1 { reply.steps.insert(.wait(gate), at: 0) }
            scene.origin.on("/\(number)", reply)
        }
        _ = try await scene.larder("enqueue", "--batch", "b", scene.origin.url("/0"), scene.origin.url("/1"))
        let watch = try scene.larder(["status", "b", "--watch", "--json", "--interval", "20ms"]).start()
        let plain = try scene.larder(["status", "b", "--watch"]).start()
        #expect(await watch.reaches { String(decoding: $0.outputSoFar, as: UTF8.self).contains(#""finished":0"#) })
        #expect(await plain.reaches { String(decoding: $0.outputSoFar, as: UTF8.self).contains("0% 0/2") })
        let all = try scene.larder(["status", "--watch", "--interval", "20ms"]).start()
        let allJSON = try scene.larder(["status", "--watch", "--json", "--interval", "20ms"]).start()
        for each in [all, allJSON] { #expect(await each.reaches { !$0.outputSoFar.isEmpty }) }
        let worker = try scene.larder(["work", "--drain"]).start()
        #expect(await watch.reaches { String(decoding: $0.outputSoFar, as: UTF8.self).contains(#""finished":1"#) })
        gate.openUp()
        #expect(await worker.outcome().code == 0)
        let outcome = await watch.outcome()
        #expect(outcome.code == 0)
        let counts = try outcome.lines.map { try fields($0)["finished"] as? Int ?? -1 }
        #expect(counts.first == 0)
        #expect(counts.last == 2)
        #expect(counts == counts.sorted())
        let printed = await plain.outcome()
        #expect(printed.code == 0)
        #expect(printed.errorText == "")
        #expect(!printed.text.contains("\u{1B}"))
        #expect(printed.lines.last?.hasPrefix("b (1): finished, 100% 2/2") == true, "\(printed.text)")
        // Without BATCH all batches are printed, a line at each change, until all are finished.
        let lines = await all.outcome()
        #expect(lines.code == 0)
        #expect(lines.errorText == "")
        #expect(lines.lines.first?.hasPrefix("b (1): waiting, 0% 0/2") == true, "\(lines.text)")
        #expect(lines.lines.last?.hasPrefix("b (1): finished, 100% 2/2") == true, "\(lines.text)")
        let objects = try await allJSON.outcome().lines.map(fields)
        #expect(objects.first?["finished"] as? Int == 0)
        #expect(objects.last?["finished"] as? Int == 2)
    }

    @Test func `report --files prints tab-separated text or run's JSON lines`() async throws {
        let scene = try await Scene()
        let url = try scene.serve("plain.jpg", at: "/a.jpg")
        let words = [
            "run", "--json", "--batch", "b", "--variant", Variants.small, url, scene.origin.url("/missing.jpg"),
        ]
        let run = try RunLines(try await scene.larder(words).run())
        let json = try await scene.larder("report", "b", "--files", "--json").lines.map(JobLine.init)
        #expect(Set(json.map(\.url)) == Set(run.jobs.map(\.url)))
        #expect(json.first { $0.url == url }?.original?.path == (try run.job(url).original?.path))
        #expect(json.first { $0.url != url }?.error?.kind == "SDWebImageErrorDomain 2001")
        let text = try await scene.larder("report", "b", "--files")
        let rows = text.lines.map { $0.split(separator: "\t").map(String.init) }
        try #require(rows.map(\.count) == [5, 5])
        #expect(rows.map { $0[0] } == [url, url])
        #expect(rows.map { $0[1] } == ["original", "small"])
        let job = try #require(json.first { $0.url == url })
        #expect(rows.map { $0[2] } == ["jpeg", job.variants.first?.format])
        #expect(rows.map { $0[4] } == [job.original?.absolutePath, job.variants.first?.absolutePath])
        #expect(Set(rows.map { $0[4] }) == Set(scene.stored.map { "\(scene.cache)/default/\($0)" }))
    }

    @Test func `the text says what an error means, and cannot move the cursor`() async throws {
        let scene = try await Scene()
        let hostile = "a\u{1B}[2J\u{202E}b"
        let run = try await scene.larder("run", "--batch", "b", hostile)
        for text in [run.text, try await scene.larder("report", "b").text] {
            #expect(text.contains("batch b (1): failed\n"), "\(text)")
            #expect(text.contains("1 × The URL is empty or malformed\n    Correct it"))
            #expect(text.contains("  a\\u{1B}[2J\\u{202E}b: "), "\(text)")
            #expect(!text.contains("\u{1B}"))
            #expect(!text.contains("\u{202E}"))
        }
    }

    @Test func `cancelled items do not count as failed`() async throws {
        let scene = try await Scene()
        _ = try await scene.larder("enqueue", "--batch", "b", "http://a.example/1", "http://a.example/2", "nothing")
        _ = try await scene.larder("cancel", "b")
        let text = try await scene.larder("status", "b").text
        #expect(text.hasPrefix("b (1): cancelled, 100% 3/3, 1 failed, 2 cancelled, took "), "\(text)")
    }

    @Test func `--json excludes other formats unless one of both is a variable`() async throws {
        let scene = try await Scene()
        _ = try await scene.larder("enqueue", "--batch", "b", "http://a.example/1")
        for format in ["html", "text"] {
            let refused = try await scene.larder("report", "b", "--format", format, "--json")
            #expect(refused.code == 2)
            #expect(try refused.error.message.contains("--json"))
            #expect(try refused.error.message.contains(format))
        }
        #expect(try await scene.larder("report", "b", "--format", "json", "--json").code == 0)
        var setting = scene.larder(["report", "b", "--format", "html"])
        setting.environment["LARDER_JSON"] = "1"
        #expect(try await setting.run().text.hasPrefix("<!doctype html>"))
    }

    @Test func `doctor skips checks without permission`() async throws {
        let scene = try await Scene()
        let login = "larder_test_" + String(UInt64.random(in: 0 ... .max), radix: 36)
        _ = try await scene.sql("CREATE ROLE \(login) LOGIN PASSWORD '\(login)'")
        _ = try await scene.sql("GRANT larder_worker TO \(login)")
        var command = scene.larder(["doctor", "--json"])
        command.environment["LARDER_DATABASE_URL"] = scene.database.url + "&user=\(login)&password=\(login)"
        let outcome = try await command.run()
        #expect(outcome.code == 0, "\(outcome.text)")
        let skipped = try outcome.lines.map(fields).filter { $0["ok"] is NSNull }
        #expect(skipped.map { $0["check"] as? String } == ["queue", "health"])
        #expect(skipped.allSatisfy { ($0["detail"] as? String)?.contains("not permitted for this login") == true })
        command.arguments = ["doctor"]
        #expect(try await command.run().text.contains("skip queue: not permitted for this login"))
        _ = try await scene.sql("REVOKE larder_worker FROM \(login)")
        _ = try await scene.sql("DROP ROLE \(login)")
    }

    @Test(.enabled(if: Privilege.mayMount && access("/usr/bin/unshare", X_OK) == 0, "needs to be root, and unshare"))
    func `doctor names a missing file of certificate authorities`() async throws {
        let scene = try await Scene()
        let outcome = try await RunningCommand(
            "/usr/bin/unshare",
            [
                "-m", "/bin/sh", "-c", #"mount -t tmpfs none /etc/ssl/certs && exec "$0" doctor"#,
                LarderCommand.executable,
            ],
            environment: scene.environment.merging(["PATH": "/usr/bin:/bin"]) { $1 }, input: []
        ).outcome()
        #expect(outcome.code == 1)
        let words =
            "FAIL certificates: the file of certificate authorities /etc/ssl/certs/ca-certificates.crt cannot be read"
        #expect(outcome.text.contains(words), "\(outcome.text) \(outcome.errorText)")
        #expect(try await scene.larder("doctor").text.contains("ok   certificates: "))
    }

    @Test func `doctor prints passed and failed checks`() async throws {
        let scene = try await Scene()
        let outcome = try await scene.larder("doctor", "--json")
        #expect(outcome.code == 0, "\(outcome.text)")
        let checks = try outcome.lines.map(fields)
        for check in checks {
            #expect(Set(check.keys) == ["check", "ok", "detail", "severity"])
            #expect(check["ok"] as? Bool == true)
        }
        let names = checks.compactMap { $0["check"] as? String }
        for name in ["larder", "libvips", "read", "write", "cache", "database", "queue"] {
            #expect(names.contains(name))
        }

        var broken = scene.larder(["doctor", "--json", "--cache", "/dev/null/cache"])
        broken.environment["LARDER_DATABASE_URL"] = "postgresql:///larder?host=\(scene.directory.file("nobody"))"
        let bad = try await broken.run()
        #expect(bad.code == 1)
        let failed = try bad.lines.map(fields).filter { $0["ok"] as? Bool == false }.compactMap {
            $0["check"] as? String
        }
        #expect(failed == ["cache", "database"])
    }
}
