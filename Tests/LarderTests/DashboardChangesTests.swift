import Concurrency
import Foundation
import TestSupport
import Testing

@testable import Commands
@testable import Dashboard
@testable import HTTPServer
@testable import Reports

/// Every change of the API, with its body and its answer as the OpenAPI description says.
@Suite(.timeLimit(.minutes(5)))
struct DashboardChangesTests {
    private static let token = "0123456789abcdefXYZ"

    @Test func `every change takes and answers what the OpenAPI description says`() async throws {
        let scene = try await Scene()
        try scene.directory.write(Self.token.utf8, to: "token")
        try scene.directory.write("http://a.example/1\n".utf8, to: "list")
        let gone = scene.origin.url("/none.jpg")
        _ = try await scene.larder("run", gone, "--batch", "one")
        _ = try await scene.larder("enqueue", "http://a.example/1", "--batch", "two")
        _ = try await scene.larder(
            "schedule", "set", "nightly", "--cron", "0 2 * * *", "--from", scene.directory.file("list"))
        let job = try #require(try await scene.sql("SELECT job_id FROM larder.record WHERE outcome = 'failed'"))
        let server = try scene.larder([
            "serve", "--listen", "127.0.0.1:0", "--json", "--token-file", scene.directory.file("token"),
            "--allow-changes",
        ]).start()
        #expect(await server.reaches { $0.outputSoFar.contains(UInt8(ascii: "\n")) })
        let line = String(decoding: server.outputSoFar, as: UTF8.self)
        let address = "http://127.0.0.1:\(try #require(line.firstMatch(of: /"port":(\d+)/)).1)/api/v1/"
        func call(_ path: String, _ body: String?) async throws -> String {
            try await RunningCommand(
                "/usr/bin/curl",
                ["-s", "-H", "Authorization: Bearer \(Self.token)", "-H", "Content-Type: application/json"]
                    + (body.map { ["-d", $0] } ?? []) + [address + path], environment: [:]
            ).outcome().text.trimmingCharacters(in: .newlines)
        }
        let cases: [(route: String, id: String, body: String)] = [
            ("batches/{id}/pause", "2", "{}"), ("batches/{id}/resume", "2", "{}"),
            ("failures/discard", "", #"{"text":"nothing like it"}"#),
            ("failures/retry", "", #"{"domain":"SDWebImageErrorDomain","code":2001,"batch":1}"#),
            ("batches/{id}/retry", "1", "{}"),
            ("batches/{id}/retry-error", "1", #"{"domain":"SDWebImageErrorDomain","code":2001}"#),
            ("batches/{id}/discard", "1", "{}"), ("batches/{id}/cancel", "2", "{}"), ("jobs/{id}/retry", job, "{}"),
            ("jobs/{id}/discard", job, "{}"), ("jobs/{id}/cancel", job, "{}"),
            ("queues/pause", "", #"{"queue":"default"}"#), ("queues/resume", "", #"{"queue":"default"}"#),
            ("schedules/run", "", #"{"schedule":"nightly"}"#), ("schedules/pause", "", #"{"schedule":"nightly"}"#),
            ("schedules/resume", "", #"{"schedule":"nightly"}"#),
            ("origins/hold", "", #"{"origin":"http://a.example/","seconds":60}"#),
            ("origins/clear", "", #"{"origin":"http://a.example/"}"#),
            ("blocklist/add", "", #"{"url":"http://a.example/2","seconds":60}"#),
            ("blocklist/remove", "", #"{"url":"http://a.example/2"}"#),
        ]
        #expect(Set(cases.map(\.route)) == Set(DashboardRoute.changes.map(\.path)))
        var lines: [String] = []
        for (route, id, body) in cases {
            let answer = try await call(route.replacing("{id}", with: id), body)
            #expect(!answer.contains(#""error":{"#), "\(route): \(answer)")
            lines.append("/api/v1/\(route)\t\(body)\t\(answer)")
        }
        let retried = try #require(lines.first { $0.contains("failures/retry") })
        #expect(retried.contains(#""jobs":1"#), "\(retried)")
        #expect(retried.contains(#""left":false"#), "\(retried)")
        let checker = """
            import json, sys, jsonschema
            document, shared = json.load(open(sys.argv[1])), json.load(open(sys.argv[2]))
            def inlined(value):
                if isinstance(value, dict) and "$ref" in value:
                    target = shared
                    for part in value["$ref"].split("#/")[1].split("/"): target = target[part.replace("%20", " ")]
                    return inlined(target)
                if isinstance(value, dict): return {k: inlined(v) for k, v in value.items()}
                return [inlined(v) for v in value] if isinstance(value, list) else value
            for line in open(sys.argv[3]):
                path, body, answer = line.rstrip("\\n").split("\\t")
                operation = document["paths"][path]["post"]
                for content, text in ((operation["requestBody"], body), (operation["responses"]["200"], answer)):
                    schema = inlined(content["content"]["application/json"]["schema"])
                    for error in jsonschema.Draft202012Validator(schema).iter_errors(json.loads(text)):
                        print(path, error.message)
            """
        try scene.directory.write(try await call("openapi.json", nil).utf8, to: "openapi.json")
        try scene.directory.write((lines.joined(separator: "\n") + "\n").utf8, to: "calls")
        let found = try await RunningCommand(
            "/usr/bin/python3",
            [
                "-c", checker, scene.directory.file("openapi.json"),
                PackageRoot.path + "/docs/json-output.schema.json", scene.directory.file("calls"),
            ], environment: [:]
        ).outcome()
        #expect(found.code == 0, "\(found.text)\(found.errorText)")
        #expect(found.text.isEmpty, "\(found.text)\(found.errorText)")
        server.signal(SIGTERM)
        #expect(await server.outcome().code == 0)
    }

    @Test func `equal questions at the same time are one question, and a change begins a new one`() async throws {
        let answers = DashboardAnswers()
        let asked = Locked(0)
        let request = HTTPRequest(path: "/api/v1/batches")
        try await withThrowingTaskGroup(of: [UInt8].self) { group in
            for _ in 0..<10 {
                group.addTask {
                    try await answers.answer(to: request, lasting: .seconds(60)) {
                        let number = asked.withLock { number in
                            number += 1
                            return number
                        }
                        while answers.waiterCount < 9 { await Task.yield() }
                        return HTTPAnswer(body: [UInt8(number)])
                    }.body
                }
            }
            for try await body in group { #expect(body == [1]) }
        }
        answers.forget()
        let later = try await answers.answer(to: request, lasting: .seconds(60)) { HTTPAnswer(body: [2]) }
        #expect(later.body == [2])
        #expect(asked.withLock { $0 } == 1)
    }
}
