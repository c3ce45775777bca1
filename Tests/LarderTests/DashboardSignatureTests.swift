import Foundation
import JobQueue
import TestSupport
import Testing

@testable import Commands
@testable import Dashboard

/// Signatures of URLs in the answers of `larder serve`.
@Suite(.timeLimit(.minutes(10)))
struct DashboardSignatureTests {
    private static let token = "0123456789abcdefXYZ"

    private func address(of server: RunningCommand) async throws -> String {
        #expect(await server.reaches { $0.outputSoFar.contains(UInt8(ascii: "\n")) })
        let line = String(decoding: server.outputSoFar, as: UTF8.self)
        return "http://127.0.0.1:\(try #require(line.firstMatch(of: /"port":(\d+)/)).1)/api/v1/"
    }

    private func curl(_ arguments: String...) async throws -> String {
        try await RunningCommand("/usr/bin/curl", ["-s"] + arguments, environment: [:]).outcome().text
    }

    @Test func `readers see no signature, and who may change the blocklist can name a signed URL`() async throws {
        let scene = try await Scene()
        let query = "?w=1&X-Amz-Signature=s3cret"
        let urls = [try scene.serve("plain.jpg", at: "/a.jpg" + query), scene.origin.url("/gone.jpg" + query)]
        #expect(try await scene.larder(["run", "--batch", "one"] + urls).run().code == 1)
        #expect(try await scene.larder("blocklist", "add", urls[1]).code == 0)
        let worker = try await scene.worker(slots: 1)
        #expect(try await scene.larder("enqueue", scene.origin.url("/later.jpg" + query)).code == 0)
        #expect(try await worker.claim(upTo: 1).count == 1)

        let reader = try scene.larder(["serve", "--listen", "127.0.0.1:0", "--json"]).start()
        let reading = try await address(of: reader)
        for route in DashboardRoute.all where route.method == "GET" {
            let answer = try await curl(reading + route.path.replacing("{id}", with: "1"))
            #expect(!answer.contains("s3cret"), "\(route.path): \(answer)")
            #expect(!answer.contains(#""error":{"#), "\(route.path): \(answer)")
            let shows = ["failures", "running", "batches/{id}/images", "blocklist"].contains(route.path)
            if shows { #expect(answer.contains("?w=1&X-Amz-Signature=***"), "\(route.path): \(answer)") }
        }
        #expect(try await curl(reading + "blocklist").contains(#""given":null"#))

        // No file is found by a masked key: its address names the job instead.
        let root = reading.replacing("api/v1/", with: "")
        let job = try #require(try await scene.sql("SELECT job_id FROM larder.stored_file LIMIT 1"))
        let page = try await curl(root + "report/1")
        #expect(page.contains("X-Amz-Signature=***"))
        #expect(!page.contains("s3cret"))
        let size = try await curl("-o", "/dev/null", "-w", "%{size_download}", root + "batch/1/original/\(job)")
        #expect(size == "\(try TestImage.bytes("plain.jpg").count)")

        try scene.directory.write(Self.token.utf8, to: "token")
        let changing = try scene.larder([
            "serve", "--listen", "127.0.0.1:0", "--json", "--token-file", scene.directory.file("token"),
            "--allow-changes",
        ]).start()
        let blocklist = try await address(of: changing) + "blocklist"
        let header = "Authorization: Bearer \(Self.token)"
        let row = try #require(
            (try fields(try await curl("-H", header, blocklist))["blocklist"] as? [[String: Any]])?.first)
        #expect(row["given"] as? String == urls[1])
        #expect((row["url"] as? String)?.hasSuffix("=***") == true)
        let answer = try await curl(
            "-H", header, "-H", "Content-Type: application/json", "-d", #"{"url":"\#(urls[1])"}"#,
            blocklist + "/remove")
        #expect(answer.contains("***"), "\(answer)")
        #expect(try await scene.sql("SELECT count(*) FROM larder.blocklist") == "0")
        #expect(try await scene.sql("SELECT target FROM larder.action")?.hasSuffix("=***") == true)
        for server in [reader, changing] {
            server.signal(SIGTERM)
            #expect(await server.outcome().code == 0)
        }
    }
}
