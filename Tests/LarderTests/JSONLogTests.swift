import Foundation
import TestSupport
import Testing

/// Standard error with `--log-format json`.
@Suite(.timeLimit(.minutes(5)))
struct JSONLogTests {
    /// dav1d prints to standard error on an AVIF with a broken sequence header.
    @Test func `a codec that prints a message adds no line to the log`() async throws {
        let scene = try await Scene()
        var image = try TestImage.bytes("still.avif")
        let media = try #require(image.indices.first { image[$0...].starts(with: Array("mdat".utf8)) }) + 4
        for index in media + 4..<media + 14 { image[index] = 0xFF }
        scene.origin.on("/broken.avif", .body(image))
        let outcome = try await scene.larder(
            "run", "--json", "--verbose", "--log-format", "json", scene.origin.url("/broken.avif"))
        #expect(outcome.code == 1, "\(outcome.text)")
        #expect(outcome.text.contains("1001"), "\(outcome.text)")
        let lines = outcome.errorText.split(separator: "\n").map(String.init)
        let events = lines.compactMap { try? fields($0) }
        #expect(!events.isEmpty, "\(outcome.errorText)")
        #expect(events.count == lines.count, "\(outcome.errorText)")
    }

    @Test func `each line that a worker writes to standard error is an event`() async throws {
        let scene = try await Scene()
        let url = scene.origin.url("/missing.jpg")
        _ = try await scene.larder("enqueue", "--batch", "b", url)
        _ = try await scene.larder("enqueue", "--batch", "held", url + "?2")
        _ = try await scene.larder("pause", "held")
        func events(_ arguments: String...) async throws -> [[String: Any]] {
            var command = scene.larder(["work", "--drain", "--log-format", "json"] + arguments)
            command.environment["LARDER_SLOT"] = "3"
            let outcome = try await command.run()
            #expect(outcome.code == 1, "\(outcome.text)")
            #expect(outcome.text.isEmpty, "\(outcome.text)")
            return try outcome.errorText.split(separator: "\n").map { try fields(String($0)) }
        }
        let worked = try await events("--listen", "127.0.0.1:0")
        for name in ["started", "listening", "completed", "held", "ended"] {
            let event = try #require(worked.first { $0["event"] as? String == name }, "\(name)")
            #expect(event["time"] is String)
            #expect(event["level"] is String)
        }
        let failed = worked.first { $0["event"] as? String == "completed" }
        #expect(failed?["origin"] as? String == "http://127.0.0.1:\(scene.origin.port)")
        #expect(worked.last { $0["event"] as? String == "ended" }?["failed"] as? Int == 1)
        let refused = try await events("--database", "postgresql://127.0.0.1:\(scene.dead.port)/images")
        #expect(refused.last?["event"] as? String == "error")
        #expect(refused.last?["error"] as? String == "LarderErrorDomain 5")
    }

    @Test func `wrong usage of a worker with a JSON log is an event, wherever the format is said`() async throws {
        let scene = try await Scene()
        let good = try scene.directory.write("log.format = \"json\"".utf8, to: "good.toml")
        let bad = try scene.directory.write("log.format = \"json\"\nlog.levle = \"info\"".utf8, to: "bad.toml")
        for (words, variable, reason) in [
            (["--log-format", "json", "--slot", "3"], nil, "--slot is not an option"),
            (["--log-format=json", "operand"], nil, "takes no arguments"), (["--slot", "3"], "json", "--slot"),
            (["--config", good, "--slots", "0"], nil, "--slots"), (["--config", bad], nil, "log.levle"),
        ] as [([String], String?, String)] {
            var command = scene.larder(["work", "--drain"] + words)
            command.environment["LARDER_LOG_FORMAT"] = variable
            let outcome = try await command.run()
            #expect(outcome.code == 2)
            #expect(outcome.text.isEmpty)
            let event = try fields(outcome.errorText)
            #expect(event["event"] as? String == "error")
            #expect(event["level"] as? String == "error")
            #expect((event["message"] as? String)?.contains(reason) == true, "\(outcome.errorText)")
        }
        // Text precedes the file, and a format that there is not is refused in text.
        for format in ["text", "xml"] {
            let outcome = try await scene.larder("work", "--config", good, "--log-format", format, "--slots", "0")
            #expect(outcome.code == 2, "\(outcome.errorText)")
            #expect(outcome.errorText.hasPrefix("larder: "), "\(outcome.errorText)")
        }
    }

    @Test func `the line of a failed job has time, level, status and message, and numbers are numbers`() async throws {
        let scene = try await Scene()
        let url = scene.origin.url("/missing.jpg?token=s3cret")
        let outcome = try await scene.larder("run", "--json", "--verbose", "--log-format", "json", url)
        let events = try outcome.errorText.split(separator: "\n").map { try fields(String($0)) }
        let line = try #require(events.first { $0["event"] as? String == "completed" })
        let time = try #require(line["time"] as? String)
        #expect(time.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/) != nil, "\(time)")
        #expect(line["level"] as? String == "error")
        #expect(line["status"] as? Int == 404)
        #expect(line["error"] as? String == "SDWebImageErrorDomain 2001")
        #expect((line["message"] as? String)?.contains("404") == true, "\(line)")
        #expect(line["attempt"] as? Int == 1, "\(line)")
        #expect(line["job"] is Int, "\(line)")
        #expect(line["fetch_ms"] is Int, "\(line)")
        #expect(events.allSatisfy { $0["time"] is String && $0["level"] is String })
        #expect(!outcome.errorText.contains("s3cret"))
    }
}
