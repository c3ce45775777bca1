import TestSupport
import Testing

/// The conditions of `cancel` and `retry` over all batches.
@Suite(.timeLimit(.minutes(5)))
struct JobFilterTests {
    private func count(_ scene: Scene, _ field: String, _ words: String...) async throws -> Int? {
        let outcome = try await scene.larder(words + ["--json"]).run()
        try #require(outcome.code == 0, "\(outcome.text)\(outcome.errorText)")
        let line = try fields(try #require(outcome.lines.first))
        #expect(line["dryRun"] as? Bool == words.contains("--dry-run"))
        return line[field] as? Int
    }

    @Test func `jobs of all batches are counted and cancelled by origin, URL, error and age`() async throws {
        let scene = try await Scene()
        let urls = ["http://a.example/1.jpg", "http://a.example/2_3.jpg", "http://a.example/2x3.jpg"]
        _ = try await scene.larder(["enqueue", "--batch", "one"] + urls).run()
        _ = try await scene.larder("enqueue", "--batch", "two", "http://b.example/1.jpg", "http://b.example/old/4.jpg")
        _ = try await scene.sql(
            """
            UPDATE larder_data.job SET last_domain = 'NSURLErrorDomain', last_code = -1001,
                created_at = now() - interval '3 days' WHERE url LIKE '%/4.jpg' RETURNING id
            """)
        func left() async throws -> String? {
            try await scene.sql("SELECT string_agg(url, ' ' ORDER BY url) FROM larder_data.job")
        }
        let all = try await left()
        for (number, words) in [
            (2, ["--origin", "http://b.example/any"]), (2, ["--url", "*/1.jpg"]), (1, ["--url", "*/2_3.jpg"]),
            (1, ["--origin", "http://b.example", "--url", "*/1.jpg"]), (1, ["--older-than", "2d"]),
            (0, ["--older-than", "4d"]), (1, ["--error", "NSURLErrorDomain -1001"]),
            (0, ["--error", "NSURLErrorDomain 1001"]), (0, ["--url", "http://a.example"]), (5, ["--url", "*"]),
        ] {
            let outcome = try await scene.larder(["cancel", "--dry-run", "--json"] + words).run()
            #expect(try fields(outcome.text)["cancelled"] as? Int == number, "\(words) \(outcome.text)")
        }
        #expect(try await left() == all)
        #expect(try await count(scene, "cancelled", "cancel", "--url", "*/2_3.jpg") == 1)
        #expect(try await scene.larder("cancel", "--older-than", "2d").text == "1 job cancelled\n")
        #expect(try await left() == "http://a.example/1.jpg http://a.example/2x3.jpg http://b.example/1.jpg")
        #expect(
            try await scene.sql("SELECT string_agg(cancelled::text, ' ' ORDER BY batch) FROM larder.progress") == "1 1")
        #expect(try await scene.faults() == [])
    }

    @Test func `failures of all batches, or of one, are counted and retried by the same conditions`() async throws {
        let scene = try await Scene()
        scene.origin.on("/a.jpg", .body(Array("no image".utf8)))
        #expect(try await scene.larder("run", "--batch", "one", scene.origin.url("/a.jpg")).code == 1)
        #expect(try await scene.larder("run", "--batch", "two", scene.origin.url("/missing.jpg")).code == 1)
        let missing = "SDWebImageErrorDomain 2001"
        #expect(try await count(scene, "retried", "retry", "--older-than", "0s", "--dry-run") == 2)
        #expect(try await count(scene, "retried", "retry", "--error", missing, "--dry-run") == 1)
        #expect(try await count(scene, "retried", "retry", "one", "--error", missing, "--dry-run") == 0)
        #expect(try await count(scene, "retried", "retry", "two", "--url", "*/missing.*", "--dry-run") == 1)
        #expect(try await scene.sql("SELECT sum(failed) FROM larder.progress") == "2")
        #expect(try await count(scene, "retried", "retry", "one", "--error", missing) == 0)
        #expect(try await scene.larder("retry", "--origin", scene.origin.url("/")).text == "2 items retried\n")
        #expect(try await scene.sql("SELECT sum(failed) || ' ' || sum(open) FROM larder.progress") == "0 2")
        #expect(try await scene.faults() == [])
    }
}
