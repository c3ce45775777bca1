import Foundation
import JobQueue
import TestSupport
import Testing

/// `larder fetch` with a worker's settings, and the output about origins and unchanged originals.
@Suite(.timeLimit(.minutes(5)))
struct FetchTests {
    private let directory: TemporaryDirectory
    private let origin: OriginServer

    init() throws {
        directory = try TemporaryDirectory()
        origin = try OriginServer()
    }

    private func fetch(_ path: String, _ words: String...) async throws -> CommandOutcome {
        var command = LarderCommand(
            environment: [
                "LARDER_HOME": directory.file("home"), "LARDER_ALLOW_ADDRESS": "127.0.0.0/8",
                "LARDER_ALLOW_PORT": "\(origin.port)",
            ], input: [UInt8]())
        command.arguments = ["fetch", origin.url(path), "--json"] + words
        return try await command.run()
    }

    private func line(_ outcome: CommandOutcome) throws -> [String: Any] {
        try fields(try #require(outcome.lines.last))
    }

    private func code(_ outcome: CommandOutcome) throws -> Int? {
        (try line(outcome)["error"] as? [String: Any])?["code"] as? Int
    }

    @Test func `fetch reports an unchanged copy and keeps its file`() async throws {
        origin.on("/a.jpg", .status(304, [("ETag", "\"1\"")]))
        let file = directory.file("a.jpg")
        try Data("mine".utf8).write(to: URL(filePath: file))
        let outcome = try await fetch(
            "/a.jpg", "-o", file, "--if-none-match", "\"1\"", "--if-modified-since", "Sat, 21 Nov 2026 10:00:00 GMT")
        #expect(outcome.code == 0, "\(outcome.errorText)")
        let line = try line(outcome)
        #expect(line["unchanged"] as? Bool == true)
        #expect(line["httpStatus"] as? Int == 304)
        #expect(line["sha256"] is NSNull)
        #expect(line["path"] is NSNull)
        #expect(try Data(contentsOf: URL(filePath: file)) == Data("mine".utf8))
        let request = try #require(origin.requests.first)
        #expect(request.headers["if-none-match"] == "\"1\"")
        #expect(request.headers["if-modified-since"] == "Sat, 21 Nov 2026 10:00:00 GMT")
        #expect(try directory.names.filter { $0.hasPrefix("a.jpg") } == ["a.jpg"])
    }

    @Test func `fetch writes a changed copy and prints its validators`() async throws {
        origin.on("/a.jpg", .body(try TestImage.bytes("plain.jpg"), [("ETag", "\"2\"")]))
        let outcome = try await fetch("/a.jpg", "-o", directory.file("a.jpg"), "--if-none-match", "\"1\"")
        let line = try line(outcome)
        #expect(line["unchanged"] as? Bool == false)
        #expect(line["etag"] as? String == "\"2\"")
        #expect(line["path"] as? String == directory.file("a.jpg"))
    }

    @Test func `a credential profile is sent to its origin and an unknown one is wrong usage`() async throws {
        origin.on("/a.jpg", .body(try TestImage.bytes("plain.jpg")))
        let profiles = directory.file("profiles.json")
        try Data(#"{"cdn":{"origins":["\#(origin.url(""))"],"headers":{"X-Key":"s"}}}"#.utf8)
            .write(to: URL(filePath: profiles))
        let outcome = try await fetch("/a.jpg", "--credentials", profiles, "--profile", "cdn")
        #expect(outcome.code == 0, "\(outcome.errorText)")
        #expect(origin.requests.first?.headers["x-key"] == "s")
        let wrong = try await fetch("/a.jpg", "--credentials", profiles, "--profile", "other")
        #expect(wrong.code == 2)
        #expect(origin.requests.count == 1)
    }

    @Test func `fetch prints robots rules and obeys them with --robots refuse`() async throws {
        origin.on("/a.jpg", .body(try TestImage.bytes("plain.jpg"), [("X-Robots-Tag", "noai")]))
        origin.on("/robots.txt", .body(Array("User-agent: larder\nDisallow: /b".utf8)))
        let printed = try await fetch("/a.jpg", "--robots-txt")
        #expect(printed.code == 0)
        #expect(try line(printed)["robots"] as? String == "noai")
        let tagged = try await fetch("/a.jpg", "--robots", "refuse")
        #expect(tagged.code == 1)
        #expect(try code(tagged) == 104)
        let listed = try await fetch("/b.jpg", "--robots", "refuse", "--robots-txt")
        #expect(try code(listed) == 104)
        #expect(origin.count("/b.jpg") == 0)
    }

    @Test func `the log marks unchanged originals`() async throws {
        let scene = try await Scene()
        let url = try scene.serve("plain.jpg", at: "/a.jpg")
        let first = try await scene.larder("run", url, "--verbose")
        #expect(first.errorText.contains("event=completed"))
        #expect(!first.errorText.contains("unchanged"))
        let again = try await scene.larder("run", url, "--options", "RefreshCached", "--verbose")
        let completed = again.errorText.split(separator: "\n").filter { $0.contains("event=completed") }
        #expect(completed.count == 1)
        #expect(completed.allSatisfy { $0.contains(" unchanged=true") })
    }

    @Test func `run and report mark unchanged originals`() async throws {
        let scene = try await Scene()
        let url = try scene.serve("plain.jpg", at: "/a.jpg")
        func original(_ options: String...) async throws -> [String: Any] {
            let run = try await scene.larder(["run", url, "--batch", "b\(options.count)", "--json"] + options).run()
            return try #require(try fields(run.lines[0])["original"] as? [String: Any])
        }
        #expect(try await original()["unchanged"] == nil)
        #expect(try await original("--options", "RefreshCached")["unchanged"] as? Bool == true)
        let page = try await scene.larder("report", "b2", "--format", "html")
        #expect(page.text.contains("null,1]"), "the original has no error and is unchanged")
    }

    @Test func `a drain that leaves work prints the held origin and its end`() async throws {
        let scene = try await Scene()
        let url = try scene.serve("plain.jpg", at: "/a.jpg")
        let away = try await scene.larder("pause", "--origin", url, "--for", "30m")
        #expect(away.code == 0)
        _ = try await scene.larder("enqueue", url)
        let drain = try await scene.larder("work", "--drain")
        #expect(drain.code == 4, "\(drain.errorText)")
        let words = drain.errorText.split(separator: "\n").filter { $0.contains(" is held until ") }
        #expect(words.count == 1)
        #expect(words.first?.contains("origin http://127.0.0.1:\(scene.origin.port) ") == true)
        #expect(words.first?.contains("(operator)") == true)
    }

    @Test(arguments: ["", "RetryFailed,", ",", "RetryFailed,,LowPriority"])
    func `empty names in --options are wrong usage`(options: String) async throws {
        let outcome = try await LarderCommand.run("enqueue", "u", "--options", options, home: directory)
        #expect(outcome.code == 2)
        #expect(outcome.errorText.contains("--options"))
    }
}

extension LarderCommand {
    fileprivate static func run(_ words: String..., home: TemporaryDirectory) async throws -> CommandOutcome {
        var command = LarderCommand(
            environment: ["LARDER_HOME": home.file("home")], input: [UInt8]())
        command.arguments = words
        return try await command.run()
    }
}
