import Foundation
import TestSupport
import Testing

/// Exports, imports, image tables and new variants from cached originals.
@Suite(.timeLimit(.minutes(5)))
struct BundleCommandTests {
    private let variant = #"{"name":"small","transform":[{"type":"resize","width":8,"height":8}],"format":"png"}"#

    private func last(_ outcome: CommandOutcome) throws -> [String: Any] {
        try fields(try #require(outcome.lines.last, "\(outcome.errorText)"))
    }

    /// A finished batch of three images with one variant each.
    private func filled() async throws -> (Scene, [String]) {
        let scene = try await Scene()
        let urls = try ["plain.jpg", "alpha.png", "still.webp"].map { try scene.serve($0, at: "/\($0)") }
        let run = try await scene.larder(["run", "--batch", "b", "--variant", variant] + urls).run()
        #expect(run.code == 0, "\(run.errorText)")
        return (scene, urls)
    }

    @Test func `an exported batch is imported into another cache and verifies there`() async throws {
        let (scene, urls) = try await filled()
        let first = scene.directory.file("1.tar.zst"), second = scene.directory.file("2.tar.zst")
        let export = try await scene.larder("cache", "export", "--batch", "b", "-o", first, "--json")
        #expect(export.code == 0, "\(export.errorText)")
        let line = try last(export)
        #expect(line["files"] as? Int == 6)
        #expect(line["missing"] as? Int == 0)
        _ = try await scene.larder("cache", "export", "--batch", "b", "--output", second)
        #expect(try Data(contentsOf: URL(filePath: first)) == Data(contentsOf: URL(filePath: second)))

        let other = scene.directory.file("other")
        let taken = try await scene.larder("cache", "import", first, "--cache", other, "--json")
        #expect(taken.code == 0, "\(taken.errorText)")
        #expect(try last(taken)["stored"] as? Int == 6)
        let manifest = scene.directory.file("manifest")
        _ = try await scene.larder("cache", "export", "--batch", "b", "--manifest-only", "-o", manifest)
        let verify = try await scene.larder("cache", "verify", "--cache", other, "--manifest", manifest, "--json")
        #expect(verify.code == 0, "\(verify.text)")
        let counts = try last(verify)
        #expect(counts["listed"] as? Int == 6)
        #expect(counts["decoded"] as? Int == 6)
        #expect(counts["faults"] as? Int == 0)
        let entry = try fields(
            try String(contentsOfFile: manifest, encoding: .utf8).split(separator: "\n").map(String.init)[0])
        #expect(Set(entry.keys).isSuperset(of: ["key", "file", "bytes", "sha256"]))
        #expect(urls.count == 3)
    }

    @Test func `verify checks a directory bundle against its manifest and prints each fault`() async throws {
        let (scene, urls) = try await filled()
        let bundle = scene.directory.file("bundle")
        _ = try await scene.larder("cache", "export", "--batch", "b", "-o", bundle)
        #expect(try await scene.larder("cache", "verify", "--cache", bundle).code == 0)
        func file(_ url: String) async throws -> String {
            let path = try await scene.larder("cache", "path", url, "--cache", bundle).lines
            return try #require(path.first)
        }
        try FileManager.default.removeItem(atPath: try await file(urls[0]))
        let changed = try await file(urls[1])
        var bytes = try Data(contentsOf: URL(filePath: changed))
        bytes[bytes.count - 20] ^= 1
        try bytes.write(to: URL(filePath: changed))
        try Data("short".utf8).write(to: URL(filePath: try await file(urls[2])))
        let outcome = try await scene.larder("cache", "verify", "--cache", bundle, "--json")
        #expect(outcome.code == 1)
        let faults = try outcome.lines.dropLast().compactMap { try fields($0)["fault"] as? String }
        #expect(Set(faults) == ["missing", "digest", "length"])
        #expect(try await scene.larder("cache", "import", bundle, "--cache", scene.directory.file("x")).code == 1)
    }

    @Test func `export reports files that are no longer in the cache`() async throws {
        let (scene, urls) = try await filled()
        let path = try #require(try await scene.larder("cache", "path", urls[0]).lines.first)
        try FileManager.default.removeItem(atPath: path)
        let outcome = try await scene.larder(
            "cache", "export", "--batch", "b", "-o", scene.directory.file("a.tzst"), "--json")
        #expect(outcome.code == 1)
        let line = try last(outcome)
        #expect(line["files"] as? Int == 5)
        #expect(line["missing"] as? Int == 1)
        #expect(outcome.errorText.contains("no longer in the cache: \(urls[0])"))
        #expect(try await scene.larder("cache", "export", "--batch", "none", "-o", "/tmp/x.tzst").code == 1)
    }

    @Test func `export leaves out files that differ from what the batch stored`() async throws {
        let (scene, urls) = try await filled()
        let variant = try fields(try #require(try await scene.larder("key", urls[0], "--variant", variant).lines.last))
        let path = scene.cache + "/default/" + (try #require(variant["file"] as? String))
        var bytes = try Data(contentsOf: URL(filePath: path))
        bytes[bytes.count - 1] ^= 1
        try bytes.write(to: URL(filePath: path))
        let outcome = try await scene.larder(
            "cache", "export", "--batch", "b", "-o", scene.directory.file("a.tzst"), "--json")
        let line = try last(outcome)
        #expect(outcome.code == 1)
        #expect(line["files"] as? Int == 5)
        #expect(line["changed"] as? Int == 1)
        #expect(outcome.errorText.contains("changed since the batch stored it: "))
        let stored = try await scene.sql(
            "SELECT count(*) FROM larder_data.job_history h, json_array_elements(h.stored) f WHERE length(f->>'sha256') = 64"
        )
        #expect(stored == "6")
    }

    @Test func `cache export writes the variants of a batch to an image table`() async throws {
        let (scene, urls) = try await filled()
        let place = scene.directory.file("tables")
        let command = [
            "cache", "export", "--as", "fastimagecache", "--batch", "b", "--variant", "small", "-o", place,
            "--page-size", "4096", "--json",
        ]
        let made = try await scene.larder(command).run()
        #expect(made.code == 0, "\(made.errorText)")
        #expect(try last(made)["stored"] as? Int == 3)
        let table = place + "/ImageTables/FICDefaultNamespace/small"
        #expect(try last(made)["table"] as? String == table + ".imageTable")
        let metadata = try fields(try String(contentsOfFile: table + ".metadata", encoding: .utf8))
        let places = try #require(metadata["indexMap"] as? [String: Int])
        #expect(places.count == 3)
        #expect(Set(places.values) == [0, 1, 2])

        // The pixels of another decoder for the opaque image; a row has 64 bytes.
        let path = try await scene.larder("key", urls[0], "--variant", variant).lines.last.map { try fields($0) }
        let file = try #require(path?["file"] as? String)
        let look = """
            import sys; from PIL import Image
            p = Image.open(sys.argv[1]).convert("RGBA")
            print(b"".join(bytes((*p.getpixel((x, 3))[2::-1], 255)) for x in range(8)).hex())
            """
        let row = await
            (try RunningCommand(
                "/usr/bin/python3", ["-c", look, "\(scene.cache)/default/\(file)"], environment: [:], input: []))
            .outcome()
        #expect(row.code == 0, "\(row.errorText)")
        let digest = String(file.prefix(32)).uppercased()
        let name = try #require(places.keys.first { $0.replacing("-", with: "").uppercased() == digest })
        let bytes = try Data(contentsOf: URL(filePath: table + ".imageTable"))
        let start = try #require(places[name]) * 4096
        let hex = bytes[(start + 3 * 64)..<(start + 3 * 64 + 32)].map {
            String($0 >> 4, radix: 16) + String($0 & 15, radix: 16)
        }
        #expect(hex.joined() == row.lines.first)

        // A second run has the same result; a missing image is reported.
        #expect(try last(try await scene.larder(command).run())["stored"] as? Int == 3)
        try FileManager.default.removeItem(atPath: "\(scene.cache)/default/\(file)")
        let less = try await scene.larder(command).run()
        #expect(less.code == 1)
        #expect(try last(less)["missing"] as? Int == 1)
        // The originals have different sizes.
        let originals = try await scene.larder(
            "cache", "export", "--as", "fastimagecache", "--batch", "b", "-o", place, "--json")
        #expect(originals.lines.count == 1, "\(originals.errorText)")
        #expect(
            try await scene.larder(
                "cache", "export", "--as", "fastimagecache", "--batch", "b", "-o", place, "--style", "x"
            ).code == 2)
        let none = try await scene.larder(
            "cache", "export", "--as", "fastimagecache", "--batch", "b", "--variant", "none", "-o", place)
        #expect(none.code == 1)
        #expect(none.errorText.contains("batch b has stored nothing as variant none"))
    }

    @Test func `enqueue --from-cache makes a new variant without a download`() async throws {
        let (scene, urls) = try await filled()
        let requests = scene.origin.requests.count
        let other = variant.replacing("small", with: "tiny").replacing("8", with: "4")
        let enqueued = try await scene.larder(
            "enqueue", "--from-cache", "b", "--batch", "again", "--variant", other, "--json")
        #expect(enqueued.code == 0, "\(enqueued.errorText)")
        #expect(enqueued.lines.count == 3)
        #expect(enqueued.errorText.contains("3 originals enqueued"))
        let work = try await scene.larder("work", "--drain", "--json")
        #expect(work.code == 0, "\(work.errorText)")
        #expect(scene.origin.requests.count == requests, "nothing was fetched")
        #expect(scene.stored.count == 9)

        let again = try await scene.larder("enqueue", "--from-cache", "all", "--variant", other, "--json")
        #expect(again.code == 0)
        #expect(again.lines.isEmpty)
        #expect(again.errorText == "larder: nothing to enqueue: of 3 originals 3 have every variant\n")
        let path = try #require(try await scene.larder("cache", "path", urls[0]).lines.first)
        try FileManager.default.removeItem(atPath: path)
        let gone = try await scene.larder("enqueue", "--from-cache", "b", "--variant", other)
        #expect(gone.errorText.contains("of 3 originals 2 have every variant, 1 are no longer in the cache"))
        #expect(try await scene.sql("SELECT count(*) FROM larder.progress") == "2", "no batch was opened for nothing")
    }

    @Test(arguments: [["--from-cache", "b"], ["--from-cache", "b", "--variant", "{}", "http://a.example/"]])
    func `--from-cache requires variants and accepts no URLs`(arguments: [String]) async throws {
        let scene = try await Scene()
        #expect(try await scene.larder(["enqueue"] + arguments).run().code == 2)
    }

    @Test func `work expires files only with --max-age and spares files it has stored`() async throws {
        let (scene, _) = try await filled()
        let old = scene.cache + "/default/0cc175b9c0f1b6a831c399e269772661"
        try Data("old".utf8).write(to: URL(filePath: old))
        let then = timespec(tv_sec: 1_000_000_000, tv_nsec: 0)
        #expect(utimensat(AT_FDCWD, old, [then, then], 0) == 0)
        _ = try await scene.larder("work", "--drain")
        #expect(FileManager.default.fileExists(atPath: old))
        let work = try await scene.larder("work", "--drain", "--max-age", "0")
        #expect(work.code == 0, "\(work.errorText)")
        #expect(work.errorText.contains("event=expired"), "\(work.errorText)")
        // The old file counts as in use, because its status has just changed.
        #expect(scene.stored.count == 7)
        let trim = try await scene.larder("cache", "trim", "--max-age", "1h", "--json")
        #expect(try last(trim)["deleted"] as? Int == 1, "no worker is running")
    }
}
