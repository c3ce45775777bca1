import Foundation
import TestSupport
import Testing

/// What `larder serve` shows of the batch that `make demo` leaves: in a stopped embedded database, with `LARDER_HOME`
/// as the only setting.
@Suite(.timeLimit(.minutes(10)))
struct DemoDashboardTests {
    private let home: ClusterHome
    private let origin: OriginServer

    init() throws {
        home = try ClusterHome()
        origin = try OriginServer()
    }

    private func larder(_ arguments: [String], _ settings: [String: String] = [:]) -> LarderCommand {
        var command = LarderCommand(
            environment: settings.merging(["LARDER_HOME": home.directory.file("home")]) { own, _ in own })
        command.arguments = arguments
        return command
    }

    private func psql(_ url: String, _ arguments: String...) async throws {
        let outcome = try await RunningCommand(
            "/usr/bin/psql", ["-Xqv", "ON_ERROR_STOP=1"] + arguments + [url], environment: ["PATH": "/usr/bin:/bin"]
        ).outcome()
        #expect(outcome.code == 0, "\(outcome.errorText)")
    }

    @Test func `serve starts the database of the demo and shows its batch`() async throws {
        for name in ["a", "b"] { origin.on("/\(name).jpg", .body(try TestImage.bytes("plain.jpg"))) }
        let lists = ["by-sql": [origin.url("/a.jpg")], "by-command": [origin.url("/b.jpg"), origin.url("/gone.jpg")]]
        for (name, urls) in lists {
            try home.directory.write((urls.joined(separator: "\n") + "\n").utf8, to: name)
        }
        // As demo/run does it, with its own pipeline and statements.
        let demo = PackageRoot.path + "/demo/"
        #expect(try await larder(["db", "start"]).run().code == 0)
        #expect(try await larder(["migrate"]).run().code == 0)
        let url = try await larder(["db", "url"]).run().text.trimmingCharacters(in: .newlines)
        try await psql(
            url, "-v", "pipeline_file=\(demo)pipeline.json", "-v", "urls_file=\(home.directory.file("by-sql"))", "-f",
            demo + "enqueue.sql")
        let list = ["--from", home.directory.file("by-command"), "--batch", "demo", "--pipeline", "demo"]
        #expect(try await larder(["enqueue"] + list).run().code == 0)
        try await psql(url, "-c", "SELECT larder.batch_seal('demo')")
        let allowed = ["LARDER_ALLOW_ADDRESS": "127.0.0.0/8", "LARDER_ALLOW_PORT": "\(origin.port)"]
        #expect(try await larder(["work", "--drain"], allowed).run().code == 1)
        #expect(try await larder(["db", "stop"]).run().code == 0)

        let server = try larder(["serve", "--listen", "127.0.0.1:0", "--json"]).start()
        #expect(await server.reaches { $0.outputSoFar.contains(UInt8(ascii: "\n")) })
        let line = String(decoding: server.outputSoFar, as: UTF8.self)
        let address = "http://127.0.0.1:\(try #require(line.firstMatch(of: /"port":(\d+)/)).1)/"
        func get(_ path: String) async throws -> CommandOutcome {
            try await RunningCommand("/usr/bin/curl", ["-sf", address + path], environment: [:]).outcome()
        }
        let batches = try #require(
            try fields(try await get("api/v1/batches").text)["batches"] as? [[String: Any]])
        #expect(batches.map { $0["batch"] as? String } == ["demo"])
        let batch = try #require(batches.first)
        #expect(batch["state"] as? String == "finished")
        #expect(batch["total"] as? Int == 3)
        #expect(batch["succeeded"] as? Int == 2)
        #expect(batch["failed"] as? Int == 1)
        #expect(batch["variants"] as? Int == 6)
        let images = try #require(
            try fields(try await get("api/v1/batches/1/images").text)["images"] as? [[String: Any]])
        #expect(images.count == 8, "an original and three variants each")
        for image in images {
            let job = try #require(image["job"] as? Int)
            let file = try await get("batch/demo/\(image["variant"] as? String ?? "original")/\(job)")
            #expect(file.code == 0)
            #expect(file.output.count == image["bytes"] as? Int)
        }
        #expect(try await get("report/1").text.contains("gone.jpg"))
        server.signal(SIGTERM)
        #expect(await server.outcome().code == 0)
        #expect(try await larder(["db", "stop"]).run().code == 0)
    }
}
