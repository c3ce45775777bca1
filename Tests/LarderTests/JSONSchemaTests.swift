import Foundation
import Glibc
import TestSupport
import Testing

@testable import CommandLine
@testable import Commands
@testable import Lab

/// docs/json-output.schema.json describes what every command prints with --json.
@Suite(.timeLimit(.minutes(5)))
struct JSONSchemaTests {
    @Test func `the schema has every command that prints JSON`() throws {
        let data = try Data(contentsOf: URL(filePath: OutputSchema.path))
        let object = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
        let described = Set(try #require(object["properties"] as? [String: Any]).keys)
        let commands = Set(CommandTable.larder.all.map(\.name)).union(["help", "version"]).union(
            CommandTable.lab.all.map(\.name))
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
            ("enqueue", ["--from", files.file("list.jsonl"), "--batch", "two"]), ("prioritize", ["--job", "4", "0"]),
            ("enqueue", [url, "nonsense", "--dry-run", "--batch", "none"]), ("status", []), ("work", ["--drain"]),
            ("status", [url, "nonsense"]), ("status", ["one"]),
            ("status", ["--health"]), ("status", ["--job", "1"]), ("status", ["--job", "2"]),
            ("report", ["one"]), ("report", ["two", "--files"]), ("pause", ["two"]), ("resume", ["two"]),
            ("pause", ["one"]), ("resume", ["one"]),
            ("pause", ["--queue", "default"]), ("resume", ["--queue", "default"]), ("retry", ["one"]),
            ("retry", ["--job", "2"]), ("cancel", ["--job", "1"]), ("retry", ["--url", "*"]),
            ("cancel", ["--older-than", "1d", "--dry-run"]), ("discard", ["one"]), ("prioritize", ["one", "2"]),
            ("cancel", ["one"]), ("path", [url, "b"] + variant),
            ("cache stat", []), ("cache list", ["--format", "jpeg"]),
            ("cache list", []), ("cache export", ["--batch", "two", "-o", files.file("bundle")]),
            ("cache import", [files.file("bundle")]), ("cache verify", ["--share", "--dry-run", "--files"]),
            ("cache verify", []),
            ("cache copy", [scene.cache, files.file("copy")]),
            ("path", ["--names", url, "--suffix", "mine"] + variant), ("sniff", [image]),
            ("transform", [image, "-o", files.file("out")] + variant), ("transform", [image, "--explain"] + variant),
            ("fetch", [url, "-o", files.file("body"), "--partial", files.file("parts")]), ("fetch", ["nonsense"]),
            ("migrate", ["--status"]), ("check", []), ("doctor", []), ("blocklist add", [url, "--reason", "spam"]),
            ("blocklist list", []),
            ("blocklist remove", [url]), ("blocklist add", ["--from", files.file("blocks")]),
            ("blocklist remove", ["--all", "--yes"]),
            ("status", ["--queues"]), ("queue set", ["default", "--order", "oldest", "--max-running", "5"]),
            ("schedule set", ["n", "--cron", "0 2 * * *", "--from", files.file("list")]), ("status", ["--schedules"]),
            ("pause", ["--schedule", "n"]), ("resume", ["--schedule", "n"]), ("enqueue", ["--schedule", "n"]),
            ("schedule remove", ["n"]), ("pause", ["--origin", url]), ("origin set", [url, "--max-rate", "5"]),
            ("status", ["--origins"]), ("resume", ["--origin", "all"]), ("pipeline set", ["p"] + variant),
            ("pipeline list", []), ("pipeline show", ["p"]), ("db status", []), ("db start", []),
            ("db start", ["--upgrade"]),
            ("db url", []), ("db stop", []),
            (
                "cache export",
                ["--as", "fastimagecache", "--batch", "one", "--variant", "t", "-o", files.file("tables")]
            ),
            ("cache trim", ["--max-size", "1", "--files"]), ("cache remove", [url, "--yes"]),
            ("cache remove", ["--all", "--yes"]), ("discard", ["one", "--delete", "--yes"]),
            ("config show", []),
            ("manual", [pages]),
            ("manual", ["--completion", "bash"]), ("help", []), ("version", []),
        ]
        var lines: [(String, String)] = []
        var seen: Set<String> = []
        for (name, arguments) in runs {
            let outcome = try await scene.larder(name.split(separator: " ").map(String.init) + arguments + ["--json"])
                .run()
            for line in outcome.lines { lines.append((name, line)) }
            if let last = outcome.lines.last, !last.hasPrefix(#"{"error":{"#) { seen.insert(name) }
        }
        let server = try scene.larder(["serve", "--listen", "127.0.0.1:0", "--json"]).start()
        #expect(await server.reaches { $0.outputSoFar.contains(UInt8(ascii: "\n")) })
        server.signal(SIGTERM)
        for line in await server.outcome().lines {
            lines.append(("serve", line))
            seen.insert("serve")
        }
        let found = try await OutputSchema.faults(lines)
        #expect(found.isEmpty, "\(found)")
        // A sound queue and a sound configuration print nothing.
        let silent = Set(CommandTable.larder.all.map(\.name)).subtracting(seen)
        #expect(silent == ["check", "config check"], "\(silent)")
    }
}
