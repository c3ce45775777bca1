import Foundation
import TestSupport
import Testing

@testable import Commands
@testable import Reports
@testable import Terminal

/// The findings of a report, in addition to its counts; each form says the same.
@Suite(.timeLimit(.minutes(5)))
struct ReportFindingsTests {
    private static func statistics(_ batch: String, in scene: Scene) async throws -> [String: Any] {
        let line = try #require(try await scene.larder("report", batch, "--json").lines.last)
        #expect(try await OutputSchema.faults([("report", line)]) == "")
        return try #require(try fields(line)["statistics"] as? [String: Any])
    }

    @Test func `every form says what failed newly and what was fixed since the run before`() async throws {
        let scene = try await Scene()
        let good = try scene.serve("plain.jpg", at: "/good.jpg")
        let (fixed, broken) = (scene.origin.url("/fixed.jpg"), scene.origin.url("/broken.jpg?sig=secret"))
        let run = ["run", "--batch", "nightly", "--retries", "0", "--variant", Variants.small]
        _ = try await scene.larder(run + [good, fixed, broken]).run()
        _ = try await scene.sql(
            "UPDATE larder_data.job_history SET outcome = 'succeeded' WHERE url LIKE '%broken%' RETURNING 1")
        _ = try scene.serve("plain.jpg", at: "/fixed.jpg")
        _ = try await scene.larder(run + [good, fixed, broken]).run()

        let statistics = try await Self.statistics("nightly", in: scene)
        let previous = try #require(statistics["previous"] as? [String: Any])
        #expect(previous["run"] as? Int == 1)
        #expect(previous["p95Ms"] is Double)
        #expect(previous["seconds"] is Double)
        #expect(previous["newlyFailed"] as? Int == 1)
        #expect(previous["fixed"] as? Int == 1)
        #expect(previous["fixedURLs"] as? [String] == [fixed])
        let masked = broken.replacing("secret", with: "***")
        #expect(previous["newlyFailedURLs"] as? [String] == [masked])
        let cause = try #require((statistics["causes"] as? [[String: Any]])?.first)
        #expect(cause["status"] as? Int == 404)
        #expect(cause["items"] as? Int == 1)
        #expect(cause["examples"] as? [String] == [masked])
        let origin = try #require((cause["byOrigin"] as? [[String: Any]])?.first)
        #expect(origin["origin"] as? String == "http://127.0.0.1:\(scene.origin.port)")
        #expect(origin["items"] as? Int == 1)
        #expect((statistics["timeline"] as? [[String: Any]])?.first?["transcode"] is Int)
        #expect(try await Self.statistics("nightly@1", in: scene)["previous"] is NSNull)

        let text = try await scene.larder("report", "nightly").text
        #expect(text.contains("  compared with nightly@1: 2 failed then, 1 newly failed, 1 fixed\n"), "\(text)")
        #expect(text.contains("\n  variant small: 2 files, 1 of them from the cache, "), "\(text)")
        #expect(text.contains("\n  variants: 1\n"), "\(text)")
        #expect(text.contains("\n  fetch: p50 "), "\(text)")
        let small = try #require((statistics["variants"] as? [[String: Any]])?.first)
        let files = try await scene.larder("report", "nightly", "--files", "--json").lines.filter {
            $0.contains(#""name":"small""#) && $0.contains(#""path":"default"#)
        }
        #expect(small["files"] as? Int == files.count)
        #expect(small["made"] as? Int == 1)
        let page = try await scene.larder("report", "nightly", "--format", "html").text
        let inside = try PageData(page)
        #expect(inside.statistics["previous"] as? NSDictionary == previous as NSDictionary)
        #expect(!page.contains("secret"))
        let csv = try await scene.larder("report", "nightly", "--format", "csv").text
        #expect(csv.contains("\"meta\",\"meaning\",\"action\"\r\n"))
        #expect(csv.contains("\"The origin answered with HTTP status 404\""))
    }

    @Test func `a report counts the files over their variant's budget, and fails for them if asked`() async throws {
        let scene = try await Scene()
        let urls = [try scene.serve("plain.jpg", at: "/a.jpg"), try scene.serve("plain.jpg", at: "/b.jpg")]
        let run = try await scene.larder(
            [
                "run", "--exit-code", "--batch", "b", "--variant", "small=16x16,budget=1", "--variant",
                "wide=32x32,budget=90000",
            ]
                + urls
        ).run()
        #expect(run.code == 1)
        #expect(run.errorText.contains("larder: variant small: 2 over the budget of 1 B\n"), "\(run.errorText)")
        #expect(!run.errorText.contains("wide"), "\(run.errorText)")
        let statistics = try await Self.statistics("b", in: scene)
        let variants = try #require(statistics["variants"] as? [[String: Any]])
        #expect(variants.map { $0["budget"] as? Int } == [1, 90_000])
        #expect(variants.map { $0["overBudget"] as? Int } == [2, 0])
        let formats = try #require(statistics["formats"] as? [[String: Any]])
        #expect(formats.map { $0["format"] as? String } == ["jpeg"])
        #expect(formats.map { [$0["originals"] as? Int, $0["variants"] as? Int] } == [[2, 4]])
        #expect(try await scene.larder("report", "b").text.contains(", 2 over the budget of 1 B\n"))
        #expect(try await scene.larder("report", "b").code == 0)
        #expect(try await scene.larder("show", "b", "--exit-code").code == 1)
        let wide = ["run", "--exit-code", "--batch", "c", "--variant", "wide=32x32,budget=90000"]
        #expect(try await scene.larder(wide + urls).run().code == 0)
        #expect(try await scene.larder("report", "c", "--exit-code", "--quiet").code == 0)
    }

    @Test func `advice about several batches names the error in place of a batch`() async throws {
        let scene = try await Scene()
        for batch in ["one", "two"] {
            _ = try await scene.larder(
                "run", "--batch", batch, "--retries", "0", "http://127.0.0.1:1/\(batch).jpg", "--allow-port", "1")
        }
        let line = try #require(try await scene.larder("report", "--since", "1h", "--json").lines.last)
        #expect(line.contains("larder retry --error '"), "\(line)")
        #expect(!line.contains("BATCH"), "\(line)")
        #expect(!(try await scene.larder("report", "one", "--json").text.contains("BATCH")))
    }

    @Test func `a report has the URLs that its failures blocked, options, workers and pipelines`() async throws {
        let scene = try await Scene()
        scene.origin.on("/text.jpg", .body(Array("<html>".utf8)))
        let text = scene.origin.url("/text.jpg")
        _ = try await scene.larder(
            "run", "--batch", "b's", "--options", "HighPriority", "--variant", Variants.small, text,
            try scene.serve("plain.jpg", at: "/a.jpg"))
        let statistics = try await Self.statistics("b's", in: scene)
        #expect(statistics["blockCount"] as? Int == 1)
        let block = try #require((statistics["blocks"] as? [[String: Any]])?.first)
        #expect(block["url"] as? String == text)
        #expect(block["code"] as? Int == 1001)
        #expect(block["fails"] as? Int == 1)
        let options = try #require((statistics["options"] as? [[String: Any]])?.first)
        #expect(options["options"] as? [String] == ["HighPriority"])
        #expect(options["items"] as? Int == 2)
        #expect((statistics["workers"] as? [[String: Any]])?.first?["jobs"] as? Int == 2)
        let page = try PageData(try await scene.larder("report", "b's", "--format", "html").text)
        #expect(page.statistics as NSDictionary == statistics as NSDictionary)
        #expect(try await scene.larder("report", "b's").text.contains("  blocklist: 1 URL blocked by these failures\n"))
        // An operator's block is none of the failures'.
        _ = try await scene.larder("blocklist", "add", text, "--for", "30d")
        #expect(try await Self.statistics("b's", in: scene)["blockCount"] as? Int == 0)
    }

    @Test func `a login of a worker gets the counts without statistics`() async throws {
        let scene = try await Scene()
        _ = try await scene.larder("run", "--batch", "b", try scene.serve("plain.jpg", at: "/a.jpg"))
        let login = "larder_test_" + String(UInt64.random(in: 0 ... .max), radix: 36)
        _ = try await scene.sql("CREATE ROLE \(login) LOGIN PASSWORD '\(login)'")
        _ = try await scene.sql("GRANT larder_worker TO \(login)")
        var command = scene.larder(["report", "b", "--json"])
        command.environment["LARDER_DATABASE_URL"] = scene.database.url + "&user=\(login)&password=\(login)"
        let line = try #require(try await command.run().lines.last)
        #expect(try fields(line)["succeeded"] as? Int == 1)
        #expect(try fields(line)["statistics"] is NSNull)
        #expect(try await OutputSchema.faults([("report", line)]) == "")
        command.arguments = ["report", "b"]
        #expect(try await command.run().text.contains("  succeeded: 1\n"))
        _ = try await scene.sql("REVOKE larder_worker FROM \(login)")
        _ = try await scene.sql("DROP ROLE \(login)")
    }

    @Test func `a word of a shell is quoted where it needs that`() {
        #expect(ShellWord.quoted("spring-2026") == "spring-2026")
        #expect(ShellWord.quoted("-x") == "'-x'")
    }
}
