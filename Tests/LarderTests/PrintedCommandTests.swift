import Foundation
import TestSupport
import Testing

/// The commands that Larder prints as the way out, run as they are printed.
@Suite(.timeLimit(.minutes(5)))
struct PrintedCommandTests {
    /// The command after `words` in what a command wrote to standard error.
    private func command(after words: String, in outcome: CommandOutcome) throws -> String {
        let line = outcome.errorText.split(separator: "\n").first { $0.contains(words) }
        return String(try #require(line?.split(separator: words).last, "\(outcome.errorText)"))
    }

    /// A scene's settings without the addresses and ports that are allowed.
    private func closed(_ scene: Scene) -> [String: String] {
        scene.environment.filter { !["LARDER_ALLOW_ADDRESS", "LARDER_ALLOW_PORT"].contains($0.key) }
    }

    struct Limit: Sendable, CustomTestStringConvertible {
        let image: String
        let kind: String
        var options: [String] = []
        var testDescription: String { "\(kind) \(options)" }
    }

    @Test(arguments: [
        Limit(image: "still.svg", kind: "SDWebImageErrorDomain 1001"),
        Limit(image: "plain.jpg", kind: "LarderErrorDomain 201", options: ["--max-body", "500"]),
        Limit(image: "rgb.png", kind: "LarderErrorDomain 202", options: ["--max-pixels", "9"]),
        Limit(image: "rgb.png", kind: "LarderErrorDomain 203", options: ["--max-edge", "9", "--max-pixels", "9"]),
        Limit(image: "animated.gif", kind: "LarderErrorDomain 204", options: ["--max-frames", "1"]),
        Limit(image: "rgb.png", kind: "LarderErrorDomain 205", options: ["--max-memory", "1KiB"]),
        Limit(
            image: "plain.jpg", kind: "LarderErrorDomain 206", options: ["--soft-time", "1ms", "--hard-time", "1ms"]),
    ])
    func `an image that a limit refuses is made by the command that run prints`(limit: Limit) async throws {
        let scene = try await Scene()
        let url = try scene.serve(limit.image, at: "/it's?a=b")
        let words = ["run", "--json", "--variant", Variants.small] + limit.options + [url]
        let refused = try await scene.larder(words).run()
        #expect(refused.code == 1)
        let failure = try RunLines(refused).failure(url)
        #expect(failure.kind == limit.kind, "\(failure.message)")
        let printed = try command(after: "this makes them: ", in: refused)
        let outcome = try await scene.shell(printed)
        #expect(outcome.code == 0, "\(printed)\n\(outcome.text)\(outcome.errorText)")
        #expect(scene.stored.count == 2)
        #expect(try await scene.sql("SELECT count(*) FROM larder.blocklist") == "0")
    }

    @Test func `a port and an address that are refused are opened by one command`() async throws {
        let scene = try await Scene()
        let urls = try [scene.serve("plain.jpg", at: "/a"), scene.serve("rgb.png", at: "/b")]
        var run = scene.larder(["run", "--json"] + urls)
        run.environment = closed(scene)
        let refused = try await run.run()
        #expect(try RunLines(refused).failure(urls[0]).kind == "LarderErrorDomain 102")
        let printed = try command(after: "this makes them: ", in: refused)
        #expect(printed.contains("--allow-port \(scene.origin.port) --allow-address 127.0.0.0/8"), "\(printed)")
        let outcome = try await scene.shell(printed, environment: closed(scene))
        #expect(outcome.code == 0, "\(outcome.text)\(outcome.errorText)")
        #expect(scene.stored.count == 2)
    }

    @Test func `a run of standard input is repeated as a retry and a drain`() async throws {
        let scene = try await Scene()
        let url = try scene.serve("still.svg", at: "/a")
        let refused = try await scene.larder("run", "--from", "-", input: "\(url)\n".utf8)
        let printed = try command(after: "this makes them: ", in: refused)
        #expect(printed == "larder retry 1 && larder work --drain --allow-format svg")
        #expect(try await scene.shell(printed).code == 0)
        #expect(scene.stored.count == 1)
    }

    @Test func `the command that an interrupted run prints has the options of the run`() async throws {
        let scene = try await Scene()
        let urls = (1...30).map { scene.origin.url("/\($0)") }
        for number in 1...30 { scene.origin.on("/\(number)", .silent) }
        var run = scene.larder(
            ["run", "--grace", "50ms", "--allow-address", "127.0.0.0/8", "--allow-port", "\(scene.origin.port)"] + urls)
        run.environment = closed(scene)
        let running = try run.start()
        // Which URLs come first is not determined.
        #expect(await running.reaches { _ in !scene.origin.requests.isEmpty })
        running.signal(SIGINT)
        let stopped = await running.outcome()
        let printed = try command(after: "30 items left; this continues: ", in: stopped)
        for number in 1...30 { scene.origin.on("/\(number)", .body(try TestImage.bytes("plain.jpg"))) }
        let outcome = try await scene.shell(printed, environment: closed(scene))
        #expect(outcome.code == 0, "\(printed)\n\(outcome.errorText)")
        #expect(scene.stored.count == 30)
    }

    @Test(arguments: [["--slots", "2"], []])
    func `a drain whose first jobs all fail for its options stops, and the command that it prints does them`(
        options: [String]
    ) async throws {
        let scene = try await Scene()
        let urls = try (1...40).map { try scene.serve("plain.jpg", at: "/\($0)") }
        _ = try await scene.larder(["enqueue"] + urls).run()
        var work = scene.larder(["work", "--drain"] + options)
        work.environment = closed(scene)
        let stopped = try await work.run()
        #expect(stopped.code == 1, "\(stopped.errorText)")
        #expect(try await scene.sql("SELECT count(*) FROM larder.failed") == "0")
        #expect(
            try await scene.sql("SELECT count(*) || ' ' || sum(attempt) FROM larder_data.job") == "40 0", "refunded")
        let printed = try command(after: "this makes them: ", in: stopped).split(separator: "\"")[0]
        let outcome = try await scene.shell(String(printed), environment: closed(scene))
        #expect(outcome.code == 0, "\(printed)\n\(outcome.errorText)")
        #expect(scene.stored.count == 40)
        #expect(try await scene.faults() == [])
    }

    @Test func `a few jobs that are refused fail, and the command that the drain prints does them`() async throws {
        let scene = try await Scene()
        _ = try await scene.larder("enqueue", "--batch", "few", try scene.serve("plain.jpg", at: "/1"))
        var work = scene.larder(["work", "--drain"])
        work.environment = closed(scene)
        let failed = try await work.run()
        #expect(failed.code == 1)
        #expect(try await scene.sql("SELECT count(*) FROM larder.failed") == "1")
        let printed = try command(after: "this makes them: ", in: failed).split(separator: "\"")[0]
        #expect(printed.hasPrefix("larder retry 1 && larder work --drain"), "\(printed)")
        let outcome = try await scene.shell(String(printed), environment: closed(scene))
        #expect(outcome.code == 0, "\(printed)\n\(outcome.errorText)")
        #expect(scene.stored.count == 1)
    }

    @Test func `a password is not printed, and a user's name is`() async throws {
        let scene = try await Scene()
        let url = scene.database.url + (scene.database.url.contains("?") ? "&" : "?") + "password=s3cret"
        let refused = try await scene.larder(
            "run", "--database", url, try scene.serve("still.svg", at: "/a"))
        let printed = try command(after: "this makes them: ", in: refused)
        #expect(!printed.contains("s3cret"), "\(printed)")
        #expect(printed.contains("password=***"), "\(printed)")
        #expect(printed.contains("passwords are not repeated"))
    }

    // MARK: - Recipes

    private func card(_ quality: Int) -> String {
        #"{"name":"card","thumbnail":{"width":40,"height":40},"format":"jpeg","quality":\#(quality),"keySuffix":"c"}"#
    }

    @Test func `a variant by another recipe is noticed, and made again by the command that run prints`() async throws {
        let scene = try await Scene()
        let url = try scene.serve("plain.jpg", at: "/a.jpg")
        let first = try await scene.larder("run", "--json", "--variant", card(90), url)
        #expect(!first.errorText.contains("recipe"), "\(first.errorText)")
        let path = try RunLines(first).job(url).variants[0].path
        let made = try scene.bytes(path)
        let second = try await scene.larder("run", "--json", "--variant", card(20), url)
        #expect(second.code == 0)
        let printed = try command(
            after: "1 variant differs from its stored recipe; this makes them again: ", in: second)
        #expect(try scene.bytes(path) == made, "the key is the same, and so is the file")
        let enqueued = try await scene.larder("enqueue", "--dry-run", "--variant", card(20), url)
        #expect(
            enqueued.errorText.contains(
                "1 variant differs from its stored recipe; the same larder enqueue with --remake"),
            "\(enqueued.errorText)")

        let again = try await scene.shell(printed)
        #expect(again.code == 0, "\(printed)\n\(again.errorText)")
        #expect(!again.errorText.contains("recipe"), "\(printed)\n\(again.errorText)")
        #expect(try scene.bytes(path) != made)
        #expect(scene.origin.requests.count == 1, "made of the stored original")
        for words in [["run"], ["enqueue", "--dry-run"]] {
            let same = try await scene.larder(words + ["--variant", card(20), url]).run()
            #expect(same.code == 0, "\(words): \(same.errorText)")
            #expect(!same.errorText.contains("recipe"), "\(words): \(same.errorText)")
        }
    }

    @Test func `a new version of a pipeline says how many stored variants differ`() async throws {
        let scene = try await Scene()
        let urls = try [scene.serve("plain.jpg", at: "/a.jpg"), scene.serve("rgb.png", at: "/b.png")]
        let set = { (quality: Int) in
            try await scene.larder("pipeline", "set", "cards", "--variant", self.card(quality))
        }
        #expect(try await !set(90).errorText.contains("recipe"))
        #expect(try await scene.larder(["run", "--pipeline", "cards"] + urls).run().code == 0)
        let changed = try await set(20)
        #expect(changed.errorText.contains("2 variants differ from their stored recipe"), "\(changed.errorText)")
        let remade = try await scene.larder("run", "--pipeline", "cards", "--remake", urls[0])
        #expect(remade.code == 0)
        #expect(try await set(20).errorText.contains("1 variant differs from its stored recipe"))
    }
}
