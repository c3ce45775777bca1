import EmbeddedPostgres
import Foundation
import JobQueue
import TestSupport
import Testing

@testable import larder

/// Commands with two databases: a batch is in one of them, listings join them, and what cannot use both is refused.
@Suite(.timeLimit(.minutes(5)))
struct SeveralDatabasesTests {
    /// The database of the scene is the first one.
    private let scene: Scene
    private let second: TemporaryDatabase
    /// How results name the two.
    private let labels: [String]

    init() async throws {
        scene = try await Scene()
        second = try await TemporaryDatabase.make(template: "migrated") { url in
            try await Migrator(.init(databaseURL: url)).migrate()
        }
        labels = try DatabaseList([scene.database.url, second.url]).databases.map(\.label)
    }

    private var urls: [String] { [scene.database.url, second.url] }

    /// A database that refuses connections.
    private var dead: String { "postgresql://127.0.0.1:\(scene.dead.port)/images" }

    private func command(_ arguments: [String], on databases: [String]? = nil) -> LarderCommand {
        var command = scene.larder(arguments)
        command.environment["LARDER_DATABASE_URL"] = (databases ?? urls).joined(separator: " ")
        return command
    }

    private func larder(_ arguments: String..., on databases: [String]? = nil) async throws -> CommandOutcome {
        try await command(arguments, on: databases).run()
    }

    /// The names of the batches of a database, in order.
    private func names(in position: Int) async throws -> [String] {
        try await sql("SELECT string_agg(DISTINCT batch, ' ' ORDER BY batch) FROM larder.progress", in: position)
            .split(separator: " ").map(String.init)
    }

    private func sql(_ statement: String, in position: Int) async throws -> String {
        try await onThread { [url = urls[position]] in try AdminSession(url).execute(statement) } ?? ""
    }

    @Test func `batches spread by the hash of their names, and status, report and control find them`() async throws {
        let batches = ["a", "b", "c", "d", "e", "nightly"]
        var lines: [(String, String)] = []
        for name in batches {
            let outcome = try await larder("enqueue", scene.origin.url("/\(name).jpg"), "--batch", name, "--json")
            #expect(outcome.code == 0, "\(outcome.errorText)")
            lines += outcome.lines.map { ("enqueue", $0) }
        }
        for position in 0...1 {
            let own = batches.filter { DatabaseList.order(of: $0, among: 2)[0] == position }
            #expect(!own.isEmpty)
            #expect(try await names(in: position) == own)
            let first = try #require(own.first)
            let inSQL =
                "SELECT n FROM generate_series(1, 2) AS n ORDER BY sha256(convert_to(n || ':\(first)', 'UTF8')) DESC"
            #expect(try await sql(inSQL + " LIMIT 1", in: 0) == "\(position + 1)", "as docs/scale.md shows it")
            for words in [
                ["status", first], ["report", first], ["pause", first], ["resume", first], ["cancel", first],
            ] {
                let outcome = try await command(words + ["--json"]).run()
                #expect(outcome.code == 0, "\(words): \(outcome.errorText)")
                let line = try fields(try #require(outcome.lines.last))
                #expect(line["batch"] as? String == first && line["database"] as? String == labels[position])
                lines.append((words[0], outcome.lines[0]))
            }
        }
        let listed = try await larder("status", "--json")
        #expect(try listed.lines.map { try fields($0)["batch"] as? String } == batches.reversed())
        lines += listed.lines.map { ("status", $0) }
        let text = try await larder("status").text
        for position in 0...1 { #expect(text.contains("\(labels[position])  ")) }
        let since = try await larder("report", "--since", "1h", "--json")
        #expect(since.code == 0 && since.lines.count == batches.count + 2, "\(since.errorText)")
        lines += since.lines.map { ("report", $0) }
        #expect(try await larder("report", "--since", "1h", "--format", "csv").code == 2)
        #expect(try await OutputSchema.faults(lines) == "")
    }

    @Test func `a name stays in the database that has it`() async throws {
        // Its hash is for the second one.
        let url = scene.origin.url("/a.jpg")
        #expect(DatabaseList.order(of: "spring", among: 2)[0] == 1)
        #expect(try await larder("enqueue", url, "--batch", "spring", on: [urls[0]]).code == 0)
        let next = try await larder("enqueue", url, "--batch", "spring", "--next-run")
        #expect(next.code == 0 && next.text.contains(" in \(labels[0]): 1 URL"), "\(next.text)\(next.errorText)")
        #expect(try await sql("SELECT count(*) FROM larder.progress", in: 0) == "2")
        #expect(try await sql("SELECT count(*) FROM larder.progress", in: 1) == "0")
        let before = try await larder("status", "spring@-1", "--json")
        #expect(try fields(try #require(before.lines.first))["batchID"] as? Int == 1)
        let unknown = try await larder("status", "summer")
        #expect(unknown.code == 1 && unknown.errorText.contains("unknown batch \"summer\" in "), "\(unknown.errorText)")
        #expect(labels.allSatisfy { unknown.errorText.contains($0) }, "\(unknown.errorText)")
        let misspelt = try await larder("status", "sprin")
        #expect(misspelt.errorText.contains("did you mean 'spring'"), "\(misspelt.errorText)")
    }

    @Test func `a name that both have is refused`() async throws {
        let url = scene.origin.url("/a.jpg")
        for urls in urls { #expect(try await larder("enqueue", url, "--batch", "b", on: [urls]).code == 0) }
        let both = try await larder("cancel", "b")
        #expect(both.code == 2 && both.errorText.contains("batch b exists in"), "\(both.errorText)")
        #expect(try await larder("cancel", "b", on: [urls[1]]).code == 0)
    }

    @Test func `a number that both have is refused, and one of one database is found`() async throws {
        let url = scene.origin.url("/a.jpg")
        for urls in [[urls[0]], [urls[1]], [urls[1]]] { #expect(try await larder("enqueue", url, on: urls).code == 0) }
        let both = try await larder("cancel", "1")
        #expect(both.code == 2 && both.errorText.contains("batch 1 exists in"), "\(both.errorText)")
        let found = try await larder("cancel", "2", "--json")
        #expect(try fields(try #require(found.lines.first))["database"] as? String == labels[1])
        let unnamed = try await larder("enqueue", url)
        #expect(unnamed.code == 0 && unnamed.text.contains(" in "), "\(unnamed.text)")
    }

    @Test func `a database that does not answer hides and stops nothing in the others`() async throws {
        let url = scene.origin.url("/a.jpg")
        // For these two "c" is for the first one and "spring" for the second.
        let list = [urls[0], dead]
        let placed = try await larder("enqueue", url, "--batch", "c", on: list)
        #expect(placed.code == 0, "\(placed.errorText)")
        #expect(placed.errorText.contains("it is not asked for batch c"), "\(placed.errorText)")
        let refused = try await larder("enqueue", url, "--batch", "spring", on: list)
        #expect(refused.code == 1 && refused.errorText.contains("database 127.0.0.1:\(scene.dead.port)/images: "))
        #expect(try await names(in: 0) == ["c"])

        let status = try await larder("status", "--json", on: list)
        #expect(status.code == 1 && status.lines.count == 2, "\(status.text)")
        #expect(try fields(status.lines[0])["batch"] as? String == "c")
        #expect(try status.error.message.contains("\(scene.dead.port)"))
        let blocked = try await larder("blocklist", "add", url, on: [dead, urls[1]])
        #expect(blocked.code == 1 && blocked.errorText.contains("database 127.0.0.1:"), "\(blocked.errorText)")
        #expect(try await sql("SELECT count(*) FROM larder.blocklist", in: 1) == "1")
    }

    @Test func `what is not of one batch is done in each database`() async throws {
        let url = scene.origin.url("/a.jpg")
        var lines: [(String, String)] = []
        let variant = #"{"name":"t","thumbnail":{"width":20,"height":20}}"#
        try scene.directory.write("\(url)\n".utf8, to: "blocks")
        for (name, arguments) in [
            ("migrate", ["--status"]), ("pause", ["--queue", "default"]), ("queue list", []), ("health", []),
            ("resume", ["--queue", "default"]), ("queue limit", ["default", "--max-running", "3"]),
            ("blocklist add", [url]), ("blocklist list", []), ("blocklist remove", [url]),
            ("blocklist import", [scene.directory.file("blocks")]), ("blocklist clear", ["--yes"]),
            ("origin hold", [url]), ("origin list", []), ("origin clear", []),
            ("pipeline set", ["p", "--variant", variant]),
            ("pipeline list", []), ("schedule list", []), ("check", []),
        ] {
            let words = name.split(separator: " ").map(String.init)
            let outcome = try await command(words + arguments + ["--json"]).run()
            #expect(outcome.code == 0, "\(name): \(outcome.text)\(outcome.errorText)")
            let named = try Set(outcome.lines.map { try fields($0)["database"] as? String })
            #expect(outcome.lines.isEmpty || named == [labels[0], labels[1]], "\(name): \(outcome.text)")
            lines += outcome.lines.map { (name, $0) }
        }
        #expect(try await OutputSchema.faults(lines) == "")
        for position in 0...1 {
            #expect(try await sql("SELECT max_running FROM larder.queue", in: position) == "3")
            #expect(try await sql("SELECT count(*) FROM larder.blocklist", in: position) == "0")
        }
        #expect(try await larder("queue", "list").text.hasPrefix("\(labels[0])\tdefault\t"))
    }

    @Test func `run uses the database of its batch`() async throws {
        let url = try scene.serve("plain.jpg", at: "/a.jpg")
        let run = try await larder("run", url, "--batch", "spring", "--json")
        #expect(run.code == 0, "\(run.text)\(run.errorText)")
        #expect(try fields(try #require(run.lines.last))["database"] as? String == labels[1])
        #expect(try await names(in: 0) == [])
        #expect(try await names(in: 1) == ["spring"])
        let export = try await larder("cache", "export", "--batch", "spring", "-o", scene.directory.file("bundle"))
        #expect(export.code == 0, "\(export.errorText)")
    }

    @Test(arguments: [
        ["work"], ["doctor"], ["metrics"], ["pipeline", "show", "p"], ["status", "--job", "1"],
        ["retry", "--job", "1"],
        ["cancel", "--job", "1"], ["schedule", "set", "n", "--cron", "@daily", "https://example.com/a.jpg"],
        ["schedule", "run", "n"], ["transform", "a.jpg", "--explain", "--pipeline", "p"],
    ])
    func `a command that uses one database refuses several`(words: [String]) async throws {
        let outcome = try await command(words).run()
        #expect(outcome.code == 2, "\(outcome.text)\(outcome.errorText)")
        #expect(outcome.errorText.contains("several databases are named (\(labels[0]), \(labels[1]))"))
    }

    @Test func `the dashboard joins the batches, and has each database below`() async throws {
        for name in ["c", "spring"] {
            #expect(try await larder("enqueue", scene.origin.url("/a.jpg"), "--batch", name).code == 0)
        }
        let process = try command(["serve", "--listen", "127.0.0.1:0", "--json"]).start()
        @Sendable func port() -> String? {
            String(decoding: process.outputSoFar, as: UTF8.self).firstMatch(of: /"port":(\d+)/).map { String($0.1) }
        }
        #expect(await process.reaches { _ in port() != nil })
        let root = "http://127.0.0.1:\(try #require(port()))"
        func get(_ path: String, _ options: String...) async throws -> String {
            try await RunningCommand(
                "/usr/bin/curl", ["-s", "--max-time", "30"] + options + [root + path], environment: [:]
            ).outcome().text
        }
        let answer = try fields(try await get("/api/v1/batches"))
        let batches = try #require(answer["batches"] as? [[String: Any]])
        #expect(batches.map { $0["batch"] as? String } == ["spring", "c"])
        let databases = try #require(answer["databases"] as? [[String: Any]])
        #expect(databases.map { $0["databaseNumber"] as? Int } == [1, 2])
        #expect(databases.map { $0["database"] as? String } == labels)
        #expect(batches.map { $0["database"] as? String } == [labels[1], labels[0]])
        #expect(try await faults(of: try await get("/api/v1/batches"), by: try await get("/api/v1/openapi.json")) == "")
        #expect(try fields(try await get("/api/v1/batches?limit=0"))["error"] != nil)
        for (number, name) in [(1, "c"), (2, "spring")] {
            let own = try fields(try await get("/databases/\(number)/api/v1/batches/1"))
            #expect((own["batch"] as? [String: Any])?["batch"] as? String == name)
            #expect(try await get("/databases/\(number)/").contains("Larder</a>, database \(number)<"))
        }
        #expect(try await get("/").contains(#"<nav aria-label="Databases">"#))
        #expect(try await get("/script.js").contains("Batches of all databases"))
        #expect(try await get("/readyz") == "ready\n")
        #expect(
            try await get("/databases/2", "-o", "/dev/null", "-w", "%{http_code} %{redirect_url}")
                == "308 \(root)/databases/2/")
        #expect(try await get("/databases/3/", "-o", "/dev/null", "-w", "%{http_code}") == "404")
        process.signal(SIGTERM)
        #expect(await process.outcome().code == 0)
    }

    @Test func `passwords of a list are not shown`() async throws {
        let list = ["postgresql://shop:hush@a/x", "postgresql://shop:hush@b/x"]
        let shown = try await larder("config", "show", "--json", on: list)
        #expect(shown.code == 0 && !shown.text.contains("hush") && shown.text.contains("postgresql://shop:***@b/x"))
    }

    /// What in the joined answer differs from the description.
    private func faults(of answer: String, by description: String) async throws -> String {
        try scene.directory.write(answer.utf8, to: "answer.json")
        try scene.directory.write(description.utf8, to: "openapi.json")
        let checker = """
            import json, sys, jsonschema
            answer, description, shared = [json.load(open(name)) for name in sys.argv[1:]]
            operation = description["paths"]["/api/v1/batches"]["get"]
            schema = operation["responses"]["200"]["content"]["application/json"]["schema"]
            status = schema["properties"]["batches"]["items"]
            assert status.pop("$ref") == "json-output.schema.json#/properties/status"
            status["$ref"] = "#/properties/status"
            schema["properties"] |= {name: shared["properties"][name] for name in ["status"]}
            schema["$defs"] = shared["$defs"]
            jsonschema.Draft202012Validator.check_schema(schema)
            for error in jsonschema.Draft202012Validator(schema).iter_errors(answer): print(error.message)
            """
        let outcome = try await RunningCommand(
            "/usr/bin/python3",
            [
                "-c", checker, scene.directory.file("answer.json"), scene.directory.file("openapi.json"),
                PackageRoot.path + "/docs/json-output.schema.json",
            ], environment: [:]
        ).outcome()
        return outcome.text + outcome.errorText
    }
}
