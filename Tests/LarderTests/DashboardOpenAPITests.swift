import Foundation
import TestSupport
import Testing

@testable import Dashboard
@testable import Terminal

/// The OpenAPI description: the paths that it has, and what is no route of the API: events, the preview, and files.
@Suite(.timeLimit(.minutes(10)))
struct DashboardOpenAPITests {
    private static let token = "0123456789abcdefXYZ"

    private func call(_ url: String, _ options: String...) async throws -> String {
        try await RunningCommand(
            "/usr/bin/curl", ["-s", "-H", "Authorization: Bearer \(Self.token)"] + options + [url], environment: [:]
        ).outcome().text
    }

    @Test func `docs/openapi.json has every route, no other one, and the program's version`() throws {
        let file = URL(filePath: PackageRoot.path + "/docs/openapi.json")
        let document = try #require(try JSONSerialization.jsonObject(with: Data(contentsOf: file)) as? [String: Any])
        #expect((document["info"] as? [String: Any])?["version"] as? String == Larder.version)
        let paths = try #require(document["paths"] as? [String: [String: Any]])
        let described = paths.flatMap { path, operations in operations.keys.map { "\($0.uppercased()) \(path)" } }
        let others = [
            "GET /api/v1/events", "GET /api/v1/openapi.json", "POST /api/v1/preview", "GET /report/{id}",
            "GET /cache/{key}", "GET /batch/{name}/{variant}/{job}", "GET /metrics", "GET /livez", "GET /readyz",
        ]
        let routes = DashboardRoute.all.map { "\($0.method) /api/v1/\($0.path)" }
        #expect(Set(described) == Set(routes + others))
    }

    @Test func `events, previews, reports and files are answered as the description says`() async throws {
        let scene = try await Scene()
        let url = try scene.serve("plain.jpg", at: "/a.jpg")
        #expect(try await scene.larder("run", url, "--batch", "one").code == 0)
        try scene.directory.write(Self.token.utf8, to: "token")
        let server = try scene.larder([
            "serve", "--listen", "127.0.0.1:0", "--json", "--token-file", scene.directory.file("token"),
            "--allow-changes",
        ]).start()
        #expect(await server.reaches { $0.outputSoFar.contains(UInt8(ascii: "\n")) })
        let line = String(decoding: server.outputSoFar, as: UTF8.self)
        let address = "http://127.0.0.1:\(try #require(line.firstMatch(of: /"port":(\d+)/)).1)"
        let job = try #require(try await scene.sql("SELECT job_id FROM larder.record"))

        // Files and pages: the path of the description, and a request.
        var lines: [String] = []
        let answered = "%{http_code}\t%{content_type}"
        for (path, request, options) in [
            ("/report/{id}", "/report/1", []), ("/report/{id}", "/report/9", []),
            ("/cache/{key}", "/cache/" + url, []), ("/cache/{key}", "/cache/" + url, ["-r", "0-9"]),
            ("/cache/{key}", "/cache/" + url, ["-r", "9999999-"]), ("/cache/{key}", "/cache/none", []),
            ("/batch/{name}/{variant}/{job}", "/batch/one/original/\(job)", []),
            ("/batch/{name}/{variant}/{job}", "/batch/one/none/\(job)", []), ("/metrics", "/metrics", []),
            ("/livez", "/livez", []), ("/readyz", "/readyz", []), ("/api/v1/openapi.json", "/api/v1/openapi.json", []),
        ] as [(String, String, [String])] {
            let outcome = try await RunningCommand(
                "/usr/bin/curl",
                ["-s", "-o", "/dev/null", "-w", answered, "-H", "Authorization: Bearer \(Self.token)"] + options
                    + [address + request], environment: [:]
            ).outcome()
            lines.append("file\t\(path)\t\(outcome.text)")
        }
        // Previews: what is asked and answered.
        let image = Data(try TestImage.bytes("plain.jpg")).base64EncodedString()
        let crop = #"{"name":"bad","transform":[{"type":"crop","x":900,"y":900,"width":9,"height":9}]}"#
        for source in ["\"url\": \"\(url)\"", "\"file\": \"\(image)\""] {
            let body = "{\(source), \"variants\": [\(Variants.small), \(crop)]}"
            let answer = try await call(
                address + "/api/v1/preview", "-H", "Content-Type: application/json", "-d", body)
            lines.append("preview\t\(body)\t\(answer.trimmingCharacters(in: .newlines))")
        }
        let stream = try RunningCommand(
            "/usr/bin/curl",
            ["-sNi", "-H", "Authorization: Bearer \(Self.token)", address + "/api/v1/events?paths=queues"],
            environment: [:])
        #expect(await stream.reaches { String(decoding: $0.outputSoFar, as: UTF8.self).contains("}\n\n") })
        let text = String(decoding: stream.outputSoFar, as: UTF8.self)
        #expect(text.contains("Content-Type: text/event-stream"))
        // The policy in the head has "data:" too.
        lines.append("event\t\(try #require(text.firstMatch(of: /event: answer\ndata: (.*)/)?.1))")
        stream.signal(SIGKILL)
        _ = await stream.outcome()

        let checker = """
            import json, sys, jsonschema
            document, shared = json.load(open(sys.argv[1])), json.load(open(sys.argv[2]))
            paths = document["paths"]
            def inlined(value):
                if isinstance(value, dict) and "$ref" in value:
                    target = shared
                    for part in value["$ref"].split("#/")[1].split("/"): target = target[part.replace("%20", " ")]
                    return inlined(target)
                if isinstance(value, dict): return {k: inlined(v) for k, v in value.items()}
                return [inlined(v) for v in value] if isinstance(value, list) else value
            def check(what, schema, text):
                schema = inlined(schema)
                jsonschema.Draft202012Validator.check_schema(schema)
                for error in jsonschema.Draft202012Validator(schema).iter_errors(json.loads(text)):
                    print(what, error.message)
            for path, operations in paths.items():
                named = {part[1:-1] for part in path.split("/") if part.startswith("{")}
                for method, operation in operations.items():
                    inPath = {p["name"] for p in operation["parameters"] if p["in"] == "path"} \\
                        if "parameters" in operation else set()
                    if named != inPath: print(method, path, "has the parameters", inPath)
                    if "200" not in operation["responses"]: print(method, path, "has no answer")
            seen = 0
            for line in open(sys.argv[3]):
                kind, *parts = line.rstrip("\\n").split("\\t")
                seen += 1
                if kind == "file":
                    path, status, media = parts
                    responses = paths[path]["get"]["responses"]
                    response = responses.get(status, responses["default"])
                    media = media.split(";")[0]
                    types = response.get("content", {})
                    if media and types and media not in types and media.split("/")[0] + "/*" not in types:
                        print(path, status, media, "is not one of", list(types))
                elif kind == "preview":
                    operation = paths["/api/v1/preview"]["post"]
                    for content, text in zip((operation["requestBody"], operation["responses"]["200"]), parts):
                        check(kind, content["content"]["application/json"]["schema"], text)
                else:
                    check(kind, document["components"]["schemas"]["Event"], parts[0])
            print("seen", seen)
            """
        try scene.directory.write(try await call(address + "/api/v1/openapi.json").utf8, to: "openapi.json")
        try scene.directory.write((lines.joined(separator: "\n") + "\n").utf8, to: "lines")
        let found = try await RunningCommand(
            "/usr/bin/python3",
            [
                "-c", checker, scene.directory.file("openapi.json"),
                PackageRoot.path + "/docs/json-output.schema.json", scene.directory.file("lines"),
            ], environment: [:]
        ).outcome()
        #expect(found.code == 0, "\(found.text)\(found.errorText)")
        #expect(found.text == "seen 15\n", "\(found.text)\(found.errorText)")
        server.signal(SIGTERM)
        #expect(await server.outcome().code == 0)
    }
}
