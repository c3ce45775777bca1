import Foundation
import TestSupport
import Testing

@testable import larder

/// docs/json-output.schema.json describes what every command prints with --json.
@Suite(.timeLimit(.minutes(5)))
struct JSONSchemaTests {
    private static let schema = PackageRoot.path + "/docs/json-output.schema.json"
    /// Checks lines of "COMMAND TAB OBJECT" and prints what is wrong.
    private static let checker = """
        import json, sys, jsonschema
        schema = json.load(open(sys.argv[1]))
        jsonschema.Draft202012Validator.check_schema(schema)
        for line in open(sys.argv[2]):
            name, text = line.rstrip("\\n").split("\\t", 1)
            part = {"anyOf": [schema["properties"][name], {"$ref": "#/$defs/error"}], "$defs": schema["$defs"]}
            for error in jsonschema.Draft202012Validator(part).iter_errors(json.loads(text)):
                found = jsonschema.exceptions.best_match([error])
                print(name, found.message, list(found.path), text)
        """
    /// Commands without JSON, and those that need minutes or a special disk.
    private static let unseen: Set = [
        "cache map", "metrics", "cache table", "bench queue", "chaos", "db upgrade", "serve",
    ]

    @Test func `the schema has every command that prints JSON`() throws {
        let data = try Data(contentsOf: URL(filePath: Self.schema))
        let object = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
        let described = Set(try #require(object["properties"] as? [String: Any]).keys)
        let commands = Set(CommandTable.all.map(\.name)).subtracting(["cache map", "metrics"]).union([
            "help", "version",
        ])
        #expect(described == commands)
    }

    @Test func `what commands print matches the schema`() async throws {
        let scene = try await Scene()
        let url = try scene.serve("plain.jpg", at: "/a.jpg")
        let image = PackageRoot.path + "/Tests/TranscoderTests/Images/plain.jpg"
        let variant = ["--variant", #"{"name":"t","thumbnail":{"width":20,"height":20}}"#]
        let files = scene.directory
        try files.write("\(url)\nnonsense\n".utf8, to: "list")
        try files.write("{\"url\":\"\(url)\",\"meta\":{\"sku\":7}}\n[]\n".utf8, to: "list.jsonl")
        try files.write("# none\n".utf8, to: "blocks")
        let pages = files.file("pages")
        try FileManager.default.createDirectory(atPath: pages, withIntermediateDirectories: false)
        let runs: [(String, [String])] = [
            (
                "run",
                [url, "http://127.0.0.1:\(scene.dead.port)/b.jpg", "nonsense", "--retries", "0", "--batch", "one"]
                    + variant
            ),
            ("run", [url, "--options", "RefreshCached"]),
            ("enqueue", ["--from", files.file("list.jsonl"), "--batch", "two"]),
            ("enqueue", [url, "nonsense", "--dry-run", "--batch", "none"]), ("status", []), ("work", ["--drain"]),
            ("status", ["one"]), ("status", ["--health"]), ("status", ["--job", "1"]), ("status", ["--job", "2"]),
            ("report", ["one"]), ("report", ["two", "--files"]), ("pause", ["two"]), ("resume", ["two"]),
            ("pause", ["one"]), ("resume", ["one"]),
            ("pause", ["--queue", "default"]), ("health", []), ("resume", ["--queue", "default"]), ("retry", ["one"]),
            ("retry", ["--job", "2"]), ("cancel", ["--job", "1"]), ("discard", ["one"]), ("prioritize", ["one", "2"]),
            ("cancel", ["one"]), ("cache path", [url]), ("cache stat", []), ("cache list", ["--format", "jpeg"]),
            ("cache list", []), ("cache export", ["--batch", "two", "-o", files.file("bundle")]),
            ("cache import", [files.file("bundle")]), ("cache share", ["--dry-run", "--files"]), ("cache verify", []),
            ("key", [url, "--suffix", "mine"] + variant), ("sniff", [image]),
            ("transform", [image, "-o", files.file("out")] + variant), ("transform", [image, "--explain"] + variant),
            ("fetch", [url, "-o", files.file("body")]), ("fetch", ["nonsense"]), ("migrate", ["--status"]),
            ("check", []),
            ("doctor", []), ("blocklist add", [url, "--reason", "spam"]), ("blocklist list", []),
            ("blocklist remove", [url]), ("blocklist import", [files.file("blocks")]), ("blocklist clear", ["--yes"]),
            ("queue list", []), ("queue limit", ["default", "--max-running", "5"]),
            ("schedule set", ["n", "--cron", "0 2 * * *", "--from", files.file("list")]), ("schedule list", []),
            ("schedule pause", ["n"]), ("schedule resume", ["n"]), ("schedule run", ["n"]), ("schedule remove", ["n"]),
            ("origin hold", [url]), ("origin list", []), ("origin clear", []), ("pipeline set", ["p"] + variant),
            ("pipeline list", []), ("pipeline show", ["p"]), ("db status", []), ("db start", []), ("db url", []),
            ("db stop", []), ("cache trim", ["--max-size", "1", "--files"]), ("cache clear", ["--yes"]),
            ("config show", []),
            ("manual", [pages]),
            ("completion", ["bash"]), ("help", []), ("version", []),
        ]
        var lines = ""
        var seen: Set<String> = []
        for (name, arguments) in runs {
            let outcome = try await scene.larder(name.split(separator: " ").map(String.init) + arguments + ["--json"])
                .run()
            for line in outcome.lines { lines += "\(name)\t\(line)\n" }
            if let last = outcome.lines.last, !last.hasPrefix(#"{"error":{"#) { seen.insert(name) }
        }
        try files.write(lines.utf8, to: "lines")
        let found = try await SystemTool.run(["python3", "-c", Self.checker, Self.schema, files.file("lines")])
        #expect(found.isEmpty, "\(found)")
        // A sound queue and a sound configuration print nothing.
        let silent = Set(CommandTable.all.map(\.name)).subtracting(seen).subtracting(Self.unseen)
        #expect(silent == ["check", "config check"], "\(silent)")
    }
}
