import Foundation
import Glibc
import TestSupport
import Testing

/// Where commands write: files, standard output, devices and pipes; and what they refuse to delete.
@Suite(.timeLimit(.minutes(5)))
struct OutputTests {
    private static let image = PackageRoot.path + "/Tests/TranscoderTests/Images/plain.jpg"
    private static let variant = #"{"name":"v","transform":[{"type":"resize","width":12,"height":9}],"format":"png"}"#
    private static let png: [UInt8] = [0x89, 0x50, 0x4e, 0x47]
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private func transform(_ output: String, _ more: String...) async throws -> CommandOutcome {
        var command = LarderCommand()
        command.arguments = ["transform", Self.image, "-o", output, "--variant", Self.variant] + more
        return try await command.run()
    }

    @Test func `a dash is standard output, and the result is on standard error`() async throws {
        let outcome = try await transform("-")
        #expect(outcome.code == 0)
        #expect(outcome.output.starts(with: Self.png))
        #expect(outcome.errorText.contains("png, 12×9"), "\(outcome.errorText)")
        let json = try await transform("-", "--json")
        #expect(json.code == 2)
        #expect(json.text.contains("--output - and --json"))
        #expect(try directory.names == [])
    }

    // UsageTests has what is refused, in process.
    @Test(arguments: [["nonsense"], ["run"], ["work", "--slots", "0"], ["key", "--variant", "[\n]", "a"]])
    func `a refused command line is one line, or one object with --json, and ends with 2`(words: [String]) async throws
    {
        var command = LarderCommand()
        command.arguments = words + ["-v"]
        let plain = try await command.run()
        #expect(plain.code == 2)
        #expect(plain.text == "")
        #expect(
            plain.errorText.wholeMatch(of: /larder: [^\n]+ \(LarderErrorDomain \d\)\n/) != nil, "\(plain.errorText)")
        command.arguments.insert("--json", at: 1)
        let json = try await command.run()
        #expect(json.code == 2)
        #expect(json.errorText == "")
        #expect(json.lines.count == 1)
        #expect(plain.errorText == "larder: \(try json.error.message) (\(try json.error.kind))\n")
    }

    @Test func `an argument that is not UTF-8 is named without a locale`() async throws {
        // A shell passes arguments as bytes.
        let command = try RunningCommand(
            "sh", ["-c", #"exec "$0" key --variant "$(printf '{"name":"\303\050"}')" a"#, LarderCommand.executable],
            environment: ["PATH": "/usr/bin:/bin"], input: [])
        let outcome = await command.outcome()
        #expect(outcome.code == 2)
        #expect(outcome.errorText.contains("--variant is not valid UTF-8"))
    }

    @Test func `enqueue and run have the priorities that their help states`() async throws {
        let scene = try await Scene()
        _ = try await scene.larder("enqueue", "http://a.example/1.jpg")
        _ = try await scene.larder("run", "http://192.0.2.1/2.jpg")
        #expect(try await scene.sql("SELECT priority FROM larder_data.job WHERE url LIKE '%/1.jpg'") == "4")
        #expect(try await scene.sql("SELECT priority FROM larder_data.job_history") == "1")
    }

    @Test func `a pipe and a device are written to and not replaced`() async throws {
        let pipe = directory.file("pipe")
        #expect(mkfifo(pipe, 0o600) == 0)
        let reader = try RunningCommand("/bin/cat", [pipe], environment: [:], input: [])
        #expect(try await transform(pipe).code == 0)
        #expect(await reader.outcome().output.starts(with: Self.png))
        #expect(try await transform("/dev/null").code == 0)
        var status = stat()
        #expect(stat("/dev/null", &status) == 0)
        #expect(status.st_mode & S_IFMT == S_IFCHR)
        #expect(stat(pipe, &status) == 0)
        #expect(status.st_mode & S_IFMT == S_IFIFO)
        // Its link leads to a pipe without a path.
        let program = "\(LarderCommand.executable) transform \(Self.image) -o /dev/stdout"
        let standard = try await RunningCommand(
            "/bin/sh", ["-c", "\(program) --variant '\(Self.variant)' | cat"], environment: [:], input: []
        ).outcome()
        #expect(standard.output.starts(with: Self.png), "\(standard.errorText)")
    }

    @Test func `a file that only its owner may read stays so when it is written anew`() async throws {
        try directory.write([], to: "private")
        #expect(chmod(directory.file("private"), 0o600) == 0)
        #expect(try await transform(directory.file("private")).code == 0)
        var status = stat()
        #expect(stat(directory.file("private"), &status) == 0)
        #expect(status.st_mode & 0o777 == 0o600)
        #expect(status.st_size > 0)
    }

    @Test func `a link stays a link, and a directory is refused at once`() async throws {
        try directory.write([], to: "target")
        try FileManager.default.createSymbolicLink(
            atPath: directory.file("link"), withDestinationPath: directory.file("target"))
        #expect(try await transform(directory.file("link")).code == 0)
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: directory.file("link")).hasSuffix("target"))
        #expect(try Data(contentsOf: URL(filePath: directory.file("target"))).starts(with: Self.png))
        let refused = try await transform(directory.path)
        #expect(refused.code == 1)
        #expect(refused.errorText.contains("is a directory"))
        #expect(try directory.names == ["link", "target"])
    }

    @Test func `a link to a file that does not exist yet stays a link, and a circle is an error`() async throws {
        let links = [("first", "second"), ("second", directory.file("target")), ("a", "b"), ("b", "a")]
        for (name, target) in links {
            try FileManager.default.createSymbolicLink(atPath: directory.file(name), withDestinationPath: target)
        }
        #expect(try await transform(directory.file("first")).code == 0)
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: directory.file("first")) == "second")
        #expect(try Data(contentsOf: URL(filePath: directory.file("target"))).starts(with: Self.png))
        let refused = try await transform(directory.file("a"))
        #expect(refused.code == 1, "\(refused.errorText)")
        #expect(refused.errorText.contains("Too many levels"), "\(refused.errorText)")
        #expect(try directory.names == ["a", "b", "first", "second", "target"])
    }

    @Test func `a command ends when the reader of its output has ended`() async throws {
        // 200,000 keys are more than a pipe holds.
        let script = "larder key $(seq 1 20000) | head -n 1; echo ${PIPESTATUS[0]}"
        let program = LarderCommand.executable
        let outcome = try await RunningCommand(
            "/bin/bash", ["-c", script.replacing("larder ", with: "\(program) ")],
            environment: ["PATH": "/usr/bin:/bin", "HOME": directory.path], input: []
        ).outcome()
        #expect(outcome.lines.count == 2, "\(outcome.lines)")
        #expect(outcome.lines.last == "141", "\(outcome.lines)")
        #expect(outcome.errorText == "")
    }

    @Test func `a directory that was never a cache is not cleared`() async throws {
        try FileManager.default.createDirectory(
            atPath: directory.file("photos/default"), withIntermediateDirectories: true)
        try directory.write("mine".utf8, to: "photos/default/holiday.jpg")
        let place = directory.file("photos")
        for words in [
            ["clear", "--yes"], ["trim", "--max-size", "1"], ["verify", "--remove", "--yes"],
        ] {
            var command = LarderCommand()
            command.arguments = ["cache"] + words + ["--cache", place]
            let outcome = try await command.run()
            #expect(outcome.code == 1, "\(words)")
            #expect(outcome.errorText.contains("\(place) is not a cache of Larder"), "\(outcome.errorText)")
        }
        #expect(FileManager.default.fileExists(atPath: directory.file("photos/default/holiday.jpg")))
    }

    @Test(arguments: ["text", "link", "directory"])
    func `a directory with something else in the place of a cache's id is not cleared`(_ kind: String) async throws {
        let id = directory.file("photos/.larder-cache-id")
        try FileManager.default.createDirectory(
            atPath: directory.file("photos/default"), withIntermediateDirectories: true)
        try directory.write("mine".utf8, to: "photos/default/holiday.jpg")
        try directory.write("00000000-0000-4000-8000-000000000000\n".utf8, to: "another")
        switch kind {
        case "text": try directory.write("garbage".utf8, to: "photos/.larder-cache-id")
        case "link":
            try FileManager.default.createSymbolicLink(
                atPath: id, withDestinationPath: directory.file("another"))
        default: try FileManager.default.createDirectory(atPath: id, withIntermediateDirectories: false)
        }
        for words in [["clear", "--yes"], ["trim", "--max-age", "0s"], ["verify", "--remove", "--yes"]] {
            var command = LarderCommand()
            command.arguments = ["cache"] + words + ["--cache", directory.file("photos")]
            let outcome = try await command.run()
            #expect(outcome.code == 1, "\(words)")
            #expect(outcome.errorText.contains(id), "\(outcome.errorText)")
        }
        #expect(FileManager.default.fileExists(atPath: directory.file("photos/default/holiday.jpg")))
    }

    @Test func `a name of a batch cannot move the cursor, and a variable for workers chooses no target`() async throws {
        let scene = try await Scene()
        let url = try scene.serve("plain.jpg", at: "/a.jpg")
        let name = "a\u{2066}b"
        #expect(try await scene.larder("enqueue", url, "--batch", "a\u{1B}[2Jb").code == 1)
        let enqueued = try await scene.larder("enqueue", url, "--batch", name)
        let texts = [
            enqueued, try await scene.larder("status"), try await scene.larder("pause", name),
            try await scene.larder("status", "--health"), try await scene.larder("work", "--drain"),
            try await scene.larder("report", name),
        ]
        for outcome in texts {
            let text = outcome.text + outcome.errorText
            #expect(!text.contains("\u{2066}"), "\(text)")
        }
        #expect(enqueued.text.contains("a\\u{2066}b"), "\(enqueued.text)")
        // The value is the name, and the text an escape.
        let json = try await scene.larder("status", "--json")
        #expect(!json.text.contains("\u{2066}"), "\(json.text)")
        #expect(json.text.contains(#"\u2066"#), "\(json.text)")
        #expect(try fields(try #require(json.lines.first))["batch"] as? String == name)

        var pause = scene.larder(["pause"])
        pause.environment["LARDER_QUEUE"] = "default"
        let refused = try await pause.run()
        #expect(refused.code == 2)
        #expect(refused.errorText.contains("a BATCH or --queue or --origin or --schedule is required"))
        #expect(try await scene.sql("SELECT count(*) FROM larder_data.queue WHERE paused_at IS NOT NULL") == "0")
        #expect(try await scene.larder("pause", "--queue", "").code == 2)
    }

    @Test func `without a terminal, what deletes everything needs --yes`() async throws {
        let scene = try await Scene()
        let url = try scene.serve("plain.jpg", at: "/a.jpg")
        #expect(try await scene.larder("run", url).code == 0)
        #expect(try await scene.larder("blocklist", "add", url).code == 0)
        for words in [["cache", "clear"], ["blocklist", "clear"]] {
            let refused = try await scene.larder(words).run()
            #expect(refused.code == 2, "\(refused.errorText)")
            #expect(refused.errorText.contains("--yes confirms that"), "\(refused.errorText)")
        }
        #expect(scene.stored.count == 1)
        #expect(try await scene.larder("cache", "clear", "--yes").code == 0)
        #expect(try await scene.larder("blocklist", "clear", "--yes").text == "1 URL removed\n")
        #expect(scene.stored.isEmpty)
    }
}
