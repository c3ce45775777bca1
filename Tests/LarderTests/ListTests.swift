import Concurrency
import Foundation
import TestSupport
import Testing

/// Lists of URLs from files and standard input.
@Suite(.timeLimit(.minutes(5)))
struct ListTests {
    /// The answers of `enqueue --json`, in order.
    private func answers(_ outcome: CommandOutcome) throws -> [String] {
        try outcome.lines.map { try #require(try fields($0)["answer"] as? String) }
    }

    @Test func `lists accept CRLF, empty lines and invalid UTF-8, and answers keep their order`() async throws {
        let scene = try await Scene()
        let list =
            Array("http://a.example/1.jpg\r\n\r\n\nhttp://a.example/2.jpg\n".utf8) + [0xFF, 0xFE]
            + Array("http://a.example/3.jpg\nhttp://a.example/a\tb.jpg\nhttp://a.example/é.jpg".utf8)
        let outcome = try await scene.larder("enqueue", "--json", "--from", "-", input: list)
        #expect(outcome.code == 1)
        #expect(outcome.errorText.contains("standard input:6: an app escapes this URL"), "\(outcome.errorText)")
        #expect(outcome.errorText.split(separator: "\n").count == 1)
        #expect(try answers(outcome) == ["inserted", "inserted", "invalid", "invalid", "inserted"])
        let lines = try outcome.lines.map(fields)
        for line in lines { #expect(Set(line.keys) == ["url", "batch", "batchID", "answer", "job", "error"]) }
        #expect(lines[0]["url"] as? String == "http://a.example/1.jpg", "without its carriage return")
        #expect((lines[2]["error"] as? [String: Any])?["code"] as? Int == 1000)
        let kept = try await scene.sql(
            "SELECT count(*) FROM larder_data.job WHERE convert_to(url, 'UTF8') = 'http://a.example/\\303\\251.jpg'::bytea"
        )
        #expect(kept == "1")
    }

    @Test func `lines that begin with # are comments`() async throws {
        let scene = try await Scene()
        let list = "# images\nhttp://a.example/1.jpg#top\n\n  # more\nhttp://a.example/2.jpg\n#"
        let outcome = try await scene.larder("enqueue", "--json", "--from", "-", input: Array(list.utf8))
        #expect(outcome.code == 0)
        #expect(outcome.errorText == "")
        #expect(
            try outcome.lines.map { try fields($0)["url"] as? String }
                == ["http://a.example/1.jpg#top", "http://a.example/2.jpg"])
        let blocked = try await scene.larder(
            "blocklist", "add", "--from", "-", input: Array("# bad\nhttp://h/1\nx".utf8))
        #expect(blocked.text == "1 URL blocked, 1 line refused\n")
        #expect(blocked.errorText.contains("line 3"), "\(blocked.errorText)")
    }

    @Test func `composed and decomposed letters are different URLs`() async throws {
        let scene = try await Scene()
        let outcome = try await scene.larder(
            "enqueue", "--json", "http://a.example/\u{E9}", "http://a.example/e\u{301}")
        #expect(try answers(outcome) == ["inserted", "inserted"])
        #expect(try await scene.sql("SELECT count(*) FROM larder_data.job") == "2")
    }

    @Test func `run reads URLs from arguments, files and standard input`() async throws {
        let scene = try await Scene()
        let urls = try (1...4).map { try scene.serve("plain.jpg", at: "/\($0).jpg") }
        let piped = try await scene.larder("run", "--json", "--from", "-", input: Array("\(urls[0])\n\(urls[1])".utf8))
        #expect(piped.code == 0)
        #expect(try RunLines(piped).jobs.count == 2)
        let file = try scene.directory.write("\(urls[2])\n".utf8, to: "urls.txt")
        let mixed = try RunLines(try await scene.larder("run", "--json", "--from", file, urls[3]))
        #expect(mixed.report.succeeded == 2)
    }

    @Test(arguments: ["run", "enqueue"])
    func `an empty list is reported and is not an error`(command: String) async throws {
        let scene = try await Scene()
        for list in ["", "\n\r\n\n"] {
            let outcome = try await scene.larder(command, "--json", "--from", "-", input: Array(list.utf8))
            #expect(outcome.code == 0)
            #expect(outcome.errorText == "larder: no URLs in standard input\n")
            #expect(try await scene.sql("SELECT count(*) FROM larder.progress WHERE state <> 'finished'") == "0")
            if command == "run" { #expect(try RunLines(outcome).report.total == 0) }
        }
    }

    @Test func `an unreadable list is named`() async throws {
        let scene = try await Scene()
        for path in [scene.directory.file("no-such-list"), scene.directory.path] {
            for command in ["run", "enqueue"] {
                let outcome = try await scene.larder(command, "--json", "--from", path)
                #expect(outcome.code == 1, "\(path)")
                let error = try outcome.error
                #expect(error.kind == "LarderErrorDomain 2")
                #expect(error.message.contains(path), "\(error.message)")
            }
        }
        #expect(try await scene.sql("SELECT count(*) FROM larder.progress") == "0", "no batch is left open")
    }

    @Test func `spaces around a line are not part of its URL`() async throws {
        let scene = try await Scene()
        let list = "  http://a.example/1.jpg \r\n\t \r\n\thttp://a.example/2.jpg\t\nhttp://a.example/a b.jpg"
        let outcome = try await scene.larder("enqueue", "--json", "--from", "-", input: Array(list.utf8))
        #expect(outcome.code == 0)
        #expect(
            try outcome.lines.map { try fields($0)["url"] as? String } == [
                "http://a.example/1.jpg", "http://a.example/2.jpg", "http://a.example/a b.jpg",
            ])
    }

    @Test(arguments: [9_000, 70_000, 600_000])
    func `a line that is too long or contains a zero byte is one invalid URL`(length: Int) async throws {
        let scene = try await Scene()
        let endless = [UInt8](repeating: UInt8(ascii: "x"), count: length)
        let list =
            Array("http://a.example/1.jpg\nhttp://a.example/".utf8) + endless
            + Array("\nhttp://a.example/\0.jpg\nhttp://a.example/2.jpg\nhttp://b.example/".utf8) + endless
        let outcome = try await scene.larder("enqueue", "--json", "--from", "-", input: list)
        #expect(outcome.code == 1)
        #expect(try answers(outcome) == ["inserted", "invalid", "invalid", "inserted", "invalid"])
    }

    @Test func `memory does not grow with the length of a list`() async throws {
        let scene = try await Scene()
        func peak(_ count: Int) async throws -> Int {
            let list = (0..<count).map { "http://h\($0 % 50).example/\(count)/image-\($0).jpg\n" }.joined()
            let file = try scene.directory.write(list.utf8, to: "\(count).txt")
            let command = try scene.larder(["enqueue", "--batch", "n\(count)", "--from", file]).start()
            let most = Locked(0)
            _ = await command.reaches { command in
                let now = Self.peakMemory(of: command.processID)
                most.withLock { $0 = max($0, now) }
                return false
            }
            let outcome = await command.outcome()
            #expect(outcome.code == 0, "\(outcome.errorText)")
            #expect(outcome.text.hasSuffix("): \(count) URLs: \(count) inserted\n"))
            return most.withLock { $0 }
        }
        let few = try await peak(20_000)
        let many = try await peak(100_000)
        #expect(few > 0)
        #expect(many < few + 24 << 10, "\(many) KiB against \(few) KiB")
        #expect(try await scene.sql("SELECT total FROM larder.progress WHERE batch = 'n100000'") == "100000")
    }

    /// The peak memory of a process in KiB; 0 when it has ended.
    private static func peakMemory(of process: Int32) -> Int {
        let status = (try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        return line.flatMap { Int($0.split(whereSeparator: \.isWhitespace)[1]) } ?? 0
    }
}
