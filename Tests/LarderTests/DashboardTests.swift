import Foundation
import JobQueue
import TestSupport
import Testing

@testable import Commands
@testable import Dashboard
@testable import HTTPServer
@testable import Reports

/// `larder serve`.
@Suite(.timeLimit(.minutes(5)))
struct DashboardTests {
    private static let token = "0123456789abcdefXYZ"

    // MARK: - Access

    private func refusal(_ access: DashboardAccess, _ method: String, _ headers: [String: String]) -> UInt32? {
        do {
            _ = try access.user(of: HTTPRequest(method: method, path: "/", headers: headers))
            return nil
        } catch {
            return error.status
        }
    }

    @Test func `without a token only this machine's names are answered, and nothing is changed`() {
        let access = DashboardAccess()
        for host in ["localhost", "localhost:8090", "127.0.0.1:8090", "127.1.2.3", "[::1]:8090"] {
            #expect(refusal(access, "GET", ["host": host]) == nil, "\(host)")
            #expect(refusal(access, "POST", ["host": host, "content-type": "application/json"]) == 403)
        }
        for host in ["", "evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "[::2]", "10.0.0.1"] {
            #expect(refusal(access, "GET", ["host": host]) == 403, "\(host)")
        }
    }

    @Test func `with a token the token decides, and a change also needs JSON from the same site`() {
        let access = DashboardAccess(token: Self.token, allowsChanges: true, isLoopback: false)
        var headers = ["host": "larder.example", "authorization": "Bearer \(Self.token)"]
        #expect(refusal(access, "GET", headers) == nil)
        #expect(refusal(access, "POST", headers) == 415)
        headers["content-type"] = "application/json"
        #expect(refusal(access, "POST", headers) == nil)
        headers["origin"] = "https://larder.example"
        #expect(refusal(access, "POST", headers) == nil)
        headers["origin"] = "https://evil.example"
        #expect(refusal(access, "POST", headers) == 403)
        for wrong in ["Bearer \(Self.token)x", "Bearer ", Self.token, "Basic \(Self.token)", ""] {
            #expect(refusal(access, "GET", ["host": "larder.example", "authorization": wrong]) == 401, "\(wrong)")
        }
        #expect(refusal(access, "GET", [:]) == 401)
    }

    @Test func `the user is the one that the proxy names`() throws {
        let access = DashboardAccess(userHeader: "x-user", isLoopback: false)
        let request = HTTPRequest(path: "/", headers: ["host": "a", "x-user": "ada"])
        #expect(try access.user(of: request) == "ada")
        #expect(refusal(access, "GET", ["host": "a"]) == 401)
    }

    // MARK: - The server

    private struct Answer {
        let status: Int
        let text: String
        func object() throws -> [String: Any] {
            try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        }
    }

    private struct Server {
        let process: RunningCommand
        let port: Int

        func call(_ path: String, _ options: [String] = []) async throws -> Answer {
            let outcome = try await RunningCommand(
                "/usr/bin/curl",
                ["-s", "-w", "%{http_code}", "--max-time", "30"] + options + ["http://127.0.0.1:\(port)\(path)"],
                environment: [:]
            ).outcome()
            return Answer(status: Int(outcome.text.suffix(3)) ?? 0, text: String(outcome.text.dropLast(3)))
        }

        func change(_ path: String, _ body: String = "{}", token: String = DashboardTests.token) async throws -> Answer
        {
            try await call(
                "/api/v1/\(path)",
                ["-H", "Authorization: Bearer \(token)", "-H", "Content-Type: application/json", "-d", body])
        }

        func read(_ path: String) async throws -> Answer {
            try await call("/api/v1/\(path)", ["-H", "Authorization: Bearer \(DashboardTests.token)"])
        }
    }

    private func serving(_ scene: Scene, _ options: [String] = []) async throws -> Server {
        let process = try scene.larder(["serve", "--listen", "127.0.0.1:0", "--json"] + options).start()
        @Sendable func port() -> Int? {
            String(decoding: process.outputSoFar, as: UTF8.self).firstMatch(of: /"port":(\d+)/).flatMap { Int($0.1) }
        }
        #expect(await process.reaches { _ in port() != nil })
        return Server(process: process, port: try #require(port()))
    }

    private func changing(_ scene: Scene) async throws -> Server {
        try scene.directory.write("\(Self.token)\n".utf8, to: "token")
        return try await serving(scene, ["--token-file", scene.directory.file("token"), "--allow-changes"])
    }

    @Test func `every operation that reads answers what the OpenAPI description says`() async throws {
        let scene = try await Scene()
        let url = try scene.serve("plain.jpg", at: "/a.jpg")
        let gone = scene.origin.url("/<script>alert(1)</script>.jpg")
        #expect(try await scene.larder("run", url, gone, "--batch", "one").code == 1)
        #expect(try await scene.larder("blocklist", "add", url).code == 0)
        let worker = try await scene.worker(slots: 1)
        #expect(try await scene.larder("enqueue", gone + "?2", "--batch", "two").code == 0)
        #expect(try await worker.claim(upTo: 1).count == 1)
        let server = try await serving(scene)
        let document = try await server.call("/api/v1/openapi.json")
        var lines: [String] = []
        for route in DashboardRoute.all where route.method == "GET" {
            let answer = try await server.call("/api/v1/" + route.path.replacing("{id}", with: "1"))
            #expect(answer.status == 200, "\(route.path): \(answer.text)")
            lines.append("/api/v1/\(route.path)\t\(answer.text.trimmingCharacters(in: .newlines))")
        }
        #expect(lines.count == 20)
        let batch = try #require(try await server.call("/api/v1/batches/1").object()["batch"] as? [String: Any])
        #expect(batch["succeeded"] as? Int == 1)
        #expect(batch["failed"] as? Int == 1)
        for path in ["running", "workers/running"] {
            let rows = try #require(try await server.call("/api/v1/" + path).object()["running"] as? [[String: Any]])
            #expect(rows.map { $0["batch"] as? String } == ["two"])
            #expect(rows.map { $0["batchID"] as? Int } == [2])
        }

        let checker = """
            import json, sys, jsonschema, pathlib
            document = json.load(open(sys.argv[1]))
            lines = json.load(open(sys.argv[2]))
            def inlined(value):
                if isinstance(value, dict) and "$ref" in value:
                    target = lines
                    for part in value["$ref"].split("#/")[1].split("/"): target = target[part.replace("%20", " ")]
                    return inlined(target)
                if isinstance(value, dict): return {k: inlined(v) for k, v in value.items()}
                return [inlined(v) for v in value] if isinstance(value, list) else value
            for line in open(sys.argv[3]):
                path, text = line.rstrip("\\n").split("\\t", 1)
                schema = document["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
                for error in jsonschema.Draft202012Validator(inlined(schema)).iter_errors(json.loads(text)):
                    print(path, error.message, list(error.path))
            """
        try scene.directory.write(document.text.utf8, to: "openapi.json")
        try scene.directory.write((lines.joined(separator: "\n") + "\n").utf8, to: "answers")
        let found = try await RunningCommand(
            "/usr/bin/python3",
            [
                "-c", checker, scene.directory.file("openapi.json"),
                PackageRoot.path + "/docs/json-output.schema.json", scene.directory.file("answers"),
            ], environment: [:]
        ).outcome()
        #expect(found.code == 0, "\(found.text)\(found.errorText)")
        #expect(found.text.isEmpty, "\(found.text)\(found.errorText)")
        server.process.signal(SIGTERM)
        #expect(await server.process.outcome().code == 0)
    }

    @Test func `buttons change the database, and only with the token`() async throws {
        let scene = try await Scene()
        #expect(try await scene.larder("enqueue", scene.origin.url("/x.jpg"), "--batch", "one").code == 0)
        let server = try await changing(scene)
        #expect(try await server.call("/api/v1/batches").status == 401)
        #expect(try await server.change("batches/1/pause", token: "wrong-wrong-wrong-wrong").status == 401)
        #expect(try await scene.sql("SELECT state FROM larder.progress") == "sealed")
        #expect(try await server.change("batches/1/pause").status == 200)
        #expect(try await scene.sql("SELECT state FROM larder.progress") == "paused")
        #expect(try await server.change("batches/1/resume").status == 200)
        #expect(try await server.change("queues/pause", #"{"queue":"default"}"#).status == 200)
        #expect(try await scene.sql("SELECT paused_at IS NOT NULL FROM larder.queue") == "t")
        #expect(try await server.change("queues/resume", #"{"queue":"default"}"#).status == 200)
        let cancelled = try await server.change("batches/1/cancel").object()
        #expect(cancelled["items"] as? Int == 1)
        #expect(try await server.change("batches/1/pause").status == 409)
        #expect(try await server.change("batches/1/retry-error", #"{"domain":"a","code":"b"}"#).status == 400)
        let large = #"{"domain":"a","code":1325420526178790}"#
        #expect(try await server.change("batches/1/retry-error", large).status == 400)
        #expect(try await server.change("failures/retry", large).status == 400)
        #expect(try await server.change("batches/1/retry", "no JSON").status == 400)
        let lower = ["-H", "Authorization: bearer \(Self.token)"]
        #expect(try await server.call("/api/v1/queues", lower).status == 200)
        let url = scene.origin.url("/x.jpg")
        #expect(try await server.change("blocklist/add", #"{"url":"\#(url)","seconds":60}"#).status == 200)
        #expect(try await scene.sql("SELECT count(*) FROM larder.blocklist") == "1")
        #expect(try await server.change("blocklist/remove", #"{"url":"\#(url)"}"#).status == 200)
        #expect(try await scene.sql("SELECT count(*) FROM larder.blocklist") == "0")
        server.process.signal(SIGTERM)
        let outcome = await server.process.outcome()
        #expect(outcome.code == 0)
        #expect(outcome.errorText.contains("called POST /api/v1/batches/1/cancel"))
        // Each change is recorded with its target, and the refused one with its error.
        let actions = try await scene.sql(
            """
            SELECT string_agg(concat_ws(' ', verb, target, 'failed' || left(error, 0)), ', ' ORDER BY action)
            FROM larder.action WHERE login = current_user AND actor IS NULL
            """)
        #expect(
            actions == "batches/pause 1, batches/resume 1, queues/pause default, queues/resume default, "
                + "batches/cancel 1, batches/pause 1 failed, batches/retry-error 1 failed, batches/retry-error 1 failed, blocklist/add \(url), blocklist/remove \(url)"
        )
    }

    /// Begins a count of the locks on the records. Databases of one template have tables with equal numbers.
    private static let locks = """
        (SELECT count(*) FROM pg_locks WHERE relation = 'larder_data.job_history'::regclass
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND
        """

    @Test func `probes, pages and changes are answered while a report and a page wait for a lock`() async throws {
        let scene = try await Scene()
        #expect(try await scene.larder("run", try scene.serve("plain.jpg", at: "/a.jpg"), "--batch", "b").code == 0)
        let server = try await changing(scene)
        let locks = Self.locks
        let holder = try scene.holding("LOCK TABLE larder_data.job_history IN ACCESS EXCLUSIVE MODE")
        try await scene.until("\(locks) mode = 'AccessExclusiveLock' AND granted) = 1")
        let token = ["-H", "Authorization: Bearer \(Self.token)"]
        async let report = server.call("/report/1", token)
        async let images = server.read("batches/1/images")
        try await scene.until("\(locks) NOT granted) = 2")
        #expect(try await server.call("/readyz", token).text == "ready\n")
        #expect(try await server.read("queues").status == 200)
        #expect(try await server.read("pipelines").status == 200)
        #expect(try await server.change("queues/pause", #"{"queue":"default"}"#).status == 200)
        #expect(try await scene.sql("SELECT \(locks) NOT granted)") == "2")
        try await scene.release(holder)
        #expect(try await report.status == 200)
        #expect(try await images.status == 200)
        server.process.signal(SIGTERM)
        #expect(await server.process.outcome().code == 0)
    }

    @Test(arguments: ["/api/v1/batches/1/images", "/report/1"])
    func `the statement of a client that has gone ends`(path: String) async throws {
        let scene = try await Scene()
        #expect(try await scene.larder("run", try scene.serve("plain.jpg", at: "/a.jpg"), "--batch", "b").code == 0)
        let server = try await serving(scene)
        let locks = Self.locks
        let holder = try scene.holding("LOCK TABLE larder_data.job_history IN ACCESS EXCLUSIVE MODE")
        try await scene.until("\(locks) mode = 'AccessExclusiveLock' AND granted) = 1")
        let client = try RunningCommand(
            "/usr/bin/curl", ["-s", "http://127.0.0.1:\(server.port)\(path)"], environment: [:])
        try await scene.until("\(locks) NOT granted) = 1")
        client.signal(SIGKILL)
        _ = await client.outcome()
        try await scene.until("\(locks) NOT granted) = 0")
        try await scene.release(holder)
        server.process.signal(SIGTERM)
        #expect(await server.process.outcome().code == 0)
    }

    @Test func `files of the cache are served by key, with ranges, and never from outside`() async throws {
        let scene = try await Scene()
        let url = try scene.serve("plain.jpg", at: "/a.jpg?b=1")
        #expect(try await scene.larder("run", url, "--variant", Variants.small, "--batch", "b").code == 0)
        let server = try await serving(scene)
        let path = "/cache/" + url.replacing("?", with: "%3F")
        let size = try Data(contentsOf: URL(filePath: PackageRoot.path + "/Tests/TranscoderTests/Images/plain.jpg"))
            .count
        let whole = try await server.call(path, ["-D", "-", "-o", "/dev/null"]).text
        #expect(whole.hasPrefix("HTTP/1.1 200"))
        #expect(whole.contains("Content-Type: image/jpeg"))
        #expect(whole.contains("Content-Length: \(size)"))
        #expect(whole.contains("immutable"))
        #expect(whole.contains("sandbox"))
        let part = try await server.call(path, ["-D", "-", "-o", "/dev/null", "-r", "10-19"]).text
        #expect(part.hasPrefix("HTTP/1.1 206"))
        #expect(part.contains("Content-Range: bytes 10-19/\(size)"))
        #expect(try await server.call(path, ["-o", "/dev/null", "-r", "99999999-"]).status == 416)
        let tag = try #require(whole.firstMatch(of: /ETag: ("[^"]+")/)?.1)
        #expect(try await server.call(path, ["-H", "If-None-Match: \(tag)"]).status == 304)
        for outside in ["/cache/", "/cache/nothing", "/cache/..%2F..%2Fetc%2Fpasswd", "/cache/.larder-id"] {
            #expect(try await server.call(outside, ["--path-as-is"]).status == 404, "\(outside)")
        }
        let job = try #require(try await scene.sql("SELECT job_id FROM larder.record"))
        for (file, status) in [
            ("b/original/\(job)", 200), ("1/original/\(job)", 200), ("b/small/\(job)", 200), ("b/none/\(job)", 404),
            ("b/original/99", 404), ("b/original/x", 404), ("c/original/\(job)", 404), ("original/\(job)", 404),
        ] {
            let answer = try await server.call("/batch/" + file, ["-D", "-", "-o", "/dev/null"])
            #expect(answer.status == status, "\(file)")
            if file.contains("original"), status == 200 { #expect(answer.text.contains("Content-Length: \(size)")) }
        }
        let page = try await server.call("/api/v1/batches/1/images").object()
        let images = try #require(page["images"] as? [[String: Any]])
        #expect(images.map { $0["variant"] as? String } == [nil, "small"])
        #expect(page["next"] is NSNull)
        let older = try await server.call("/api/v1/batches/1/images?after=\(job)").object()
        #expect((older["images"] as? [Any])?.isEmpty == true)
        let full = try await server.call("/api/v1/batches/1/images?limit=1").object()
        #expect(full["next"] as? String == job)
        let report = try await server.call("/report/1", ["-i"]).text
        #expect(report.contains("text/html"))
        #expect(report.contains("data:image/webp;base64,"))
        #expect(try await server.call("/report/1").text == String(report.drop { $0 != "<" }))
        #expect(try await server.call("/report/9").status == 404)
        server.process.signal(SIGTERM)
        #expect(await server.process.outcome().code == 0)
        let others = try await changing(scene)
        #expect(try await others.call(path).status == 401, "with a token it is needed here, too")
        others.process.signal(SIGTERM)
        #expect(await others.process.outcome().code == 0)
    }

    @Test func `the report of a finished batch is made once, and again after a change`() async throws {
        let scene = try await Scene()
        let reports = FinishedReports()
        var made = 0
        func read() async throws {
            let summary = try await scene.queue.reports.summary(of: .id(1))
            guard reports.page(of: summary, isCompressed: false) == nil else { return }
            made += 1
            reports.keep([1], of: summary, isCompressed: false)
            #expect(reports.page(of: summary, isCompressed: true) == nil)
        }
        _ = try await scene.queue.producer.enqueue(EnqueueRequest(urls: [scene.origin.url("/gone.jpg")], batch: "b"))
        try await read()
        try await read()
        #expect(made == 2, "an open batch is read anew")
        try await scene.queue.producer.seal(.name("b"))
        _ = try await scene.larder("work", "--drain")
        try await read()
        try await read()
        #expect(made == 3)
        _ = try await scene.sql("CALL larder.batch_discard_failed('b')")
        try await read()
        #expect(made == 4)
    }

    @Test(
        arguments: [
            (nil, ByteRange.whole), ("bytes=0-", .part(0..<100)), ("bytes=10-19", .part(10..<20)),
            ("bytes=90-200", .part(90..<100)), ("bytes=-5", .part(95..<100)), ("bytes=-500", .part(0..<100)),
            ("bytes=100-", .outside), ("bytes=-0", .outside), ("bytes=5-4", .whole), ("bytes=0-1,3-4", .whole),
            ("items=0-1", .whole), ("bytes=", .whole), ("bytes=-", .whole), ("bytes=a-b", .whole),
            ("bytes=--1", .whole),
            ("bytes=0-9223372036854775807", .part(0..<100)), ("bytes=99999999999999999999-", .whole),
        ] as [(String?, ByteRange)])
    func `a range of bytes is read as RFC 9110 says`(_ header: String?, _ range: ByteRange) {
        #expect(ByteRange(header, size: 100) == range)
    }

    @Test func `wrong requests are answered with a status and an error`() async throws {
        let scene = try await Scene()
        let server = try await changing(scene)
        #expect(try await server.read("batches/9").status == 404)
        #expect(try await server.read("batches/x").status == 404)
        #expect(try await server.read("nothing").status == 404)
        #expect(try await server.read("batches?limit=0").status == 400)
        #expect(try await server.read("batches/9/pause").status == 405)
        #expect(try await server.change("batches").status == 405)
        #expect(try await server.change("batches/9/pause").status == 404)
        #expect(try await server.change("queues/pause", "[]").status == 400)
        #expect(try await server.change("queues/pause", #"{"queue":7}"#).status == 400)
        #expect(try await server.change("blocklist/add", #"{"url":"nonsense"}"#).status == 400)
        let long = scene.directory.file("long")
        try scene.directory.write(String(repeating: "x", count: 100_000).utf8, to: "long")
        #expect(try await server.change("queues/pause", "@" + long).status == 413)
        let error = try #require(try await server.read("batches/9").object()["error"] as? [String: Any])
        #expect((error["message"] as? String)?.contains("9") == true)
        server.process.signal(SIGTERM)
        #expect(await server.process.outcome().code == 0)
    }

    @Test func `text is compressed for clients that decode gzip, a report as it is written`() async throws {
        let scene = try await Scene()
        let url = try scene.serve("plain.jpg", at: "/a.jpg")
        #expect(try await scene.larder("run", url, "--batch", "b").code == 0)
        let server = try await serving(scene)
        for path in ["/script.js", "/style.css", "/api/v1/openapi.json", "/report/1", "/report/1"] {
            let plain = try await server.call(path).text
            #expect(try await server.call(path, ["--compressed"]).text == plain, "\(path)")
            let headers = try await server.call(
                path, ["-D", "-", "-o", "/dev/null", "-H", "Accept-Encoding: br, gzip"])
            #expect(headers.text.contains("Content-Encoding: gzip"), "\(path)")
            for coding in ["identity", "gzip;q=0", "br"] {
                let refused = try await server.call(path, ["-H", "Accept-Encoding: \(coding)"])
                #expect(refused.text == plain, "\(path) \(coding)")
            }
        }
        let original = try await server.call("/cache/" + url, ["-D", "-", "-o", "/dev/null", "--compressed"]).text
        #expect(!original.contains("Content-Encoding"), "an image is sent as it is")
        server.process.signal(SIGTERM)
        #expect(await server.process.outcome().code == 0)
    }

    @Test func `failures are found by the name of their batch, with the counts of their causes`() async throws {
        let scene = try await Scene()
        for (batch, urls) in [("one", ["/a", "/b"]), ("two", ["/c"])] {
            _ = try await scene.larder(["run", "--batch", batch] + urls.map(scene.origin.url)).run()
        }
        let server = try await serving(scene)
        func failures(_ query: String) async throws -> (urls: Int, batch: Int?, items: [Int]) {
            let page = try await server.read("failures?" + query).object()
            let causes = page["causes"] as? [[String: Any]] ?? []
            return (
                (page["failures"] as? [Any])?.count ?? -1, page["batch"] as? Int,
                causes.compactMap { $0["items"] as? Int }
            )
        }
        for query in ["batch=one", "batch=1"] {
            let found = try await failures(query)
            #expect(found == (2, 1, [2]), "\(query)")
        }
        let all = try await failures("")
        #expect(all == (3, nil, [3]))
        #expect(try await server.read("failures?batch=none").status == 404)
        server.process.signal(SIGTERM)
        #expect(await server.process.outcome().code == 0)
    }

    @Test func `the page loads nothing from elsewhere and has no script in it`() async throws {
        let scene = try await Scene()
        let server = try await serving(scene)
        let page = try await server.call("/", ["-i"])
        #expect(page.status == 200)
        #expect(page.text.contains("Content-Security-Policy: default-src 'none'; style-src 'self' 'sha256-"))
        #expect(page.text.contains("X-Frame-Options: DENY"))
        #expect(page.text.contains("X-Content-Type-Options: nosniff"))
        #expect(!page.text.contains("<script>"))
        #expect(!page.text.contains("http://"))
        #expect(!page.text.contains("https://"))
        for path in ["/style.css", "/script.js", "/livez", "/readyz", "/metrics"] {
            #expect(try await server.call(path).status == 200, "\(path)")
        }
        let script = try await server.call("/script.js").text
        #expect(!script.contains("innerHTML ="))
        #expect(!script.contains("insertAdjacentHTML"))
        #expect(!script.contains("eval("))
        #expect(try await server.call("/api/v1/batches", ["-H", "Host: evil.example"]).status == 403)
        server.process.signal(SIGTERM)
        #expect(await server.process.outcome().code == 0)
    }

    @Test func `others can reach it only with authentication`() async throws {
        let scene = try await Scene()
        for options in [["--listen", ":0"], ["--allow-changes"], ["--listen", "0.0.0.0:0", "--allow-changes"]] {
            let outcome = try await scene.larder(["serve"] + options).run()
            #expect(outcome.code == 2, "\(outcome.errorText)")
            #expect(outcome.errorText.contains("--token-file"), "\(outcome.errorText)")
        }
        try scene.directory.write("short\n".utf8, to: "short")
        let short = try await scene.larder("serve", "--token-file", scene.directory.file("short"))
        #expect(short.code == 2)
        #expect(short.errorText.contains("at least 16"))
    }
}
