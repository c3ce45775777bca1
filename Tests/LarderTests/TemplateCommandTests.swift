import Foundation
import TestSupport
import Testing

/// Layouts by a template, and a YYCache, through the built program.
@Suite(.timeLimit(.minutes(5)))
struct TemplateCommandTests {
    private static let naming = "template:{dir:1}/{stem}[-{width}x{height}].{ext}"
    private static let variant = #"{"name":"small","transform":[{"type":"resize","width":40,"height":30}]}"#

    private func files(_ root: String) throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: root).filter { $0.hasSuffix(".jpg") }.sorted()
    }

    @Test func `run keeps a cache by a template, makes what is missing, and refuses another URL's name`() async throws {
        let scene = try await Scene()
        let url = try scene.serve("plain.jpg", at: "/media/2026/a.jpg")
        let other = try scene.serve("plain.jpg", at: "/media/2026/a.jpg?v=2")
        let run = ["run", url, "--naming", Self.naming, "--variant", Self.variant]
        let first = try await scene.larder(run).run()
        #expect(first.code == 0, "\(first.errorText)")
        #expect(try files("\(scene.cache)/template") == ["2026/a-40x30.jpg", "2026/a.jpg"])
        let requests = scene.origin.requests.count
        #expect(try await scene.larder(run).run().code == 0)
        #expect(scene.origin.requests.count == requests)

        let taken = try await scene.larder(["run", other, "--naming", Self.naming, "--json"]).run()
        #expect(taken.code == 1)
        #expect(taken.text.contains(#""code":404"#), "\(taken.text)")
        #expect(taken.text.contains("a.jpg: it has the image of "), "\(taken.text)")
        #expect(scene.origin.requests.count == requests)

        let same = try await scene.larder(
            "run", url, "--naming", "template:{dir}/{stem}.{ext}", "--variant", Self.variant)
        #expect(same.code == 1)
        #expect(same.text.contains("add {variant} to the template"), "\(same.text)")
    }

    @Test func `cache export gives a batch the layout of a template and leaves out a second image of one name`()
        async throws
    {
        let scene = try await Scene()
        let urls = try ["/a.jpg", "/a.jpg?v=2", "/b.jpg/c.jpg", "/b.jpg"].map { try scene.serve("plain.jpg", at: $0) }
        #expect(try await scene.larder(["run", "--batch", "b", "--variant", Self.variant] + urls).run().code == 0)
        let site = scene.directory.file("site")
        let export = try await scene.larder(
            "cache", "export", "--batch", "b", "--naming", "template:{dir}/{stem}[-{width}x{height}].{ext}", "-o", site)
        #expect(export.code == 1)
        #expect(export.errorText.contains("has the file name of another image, a.jpg"), "\(export.errorText)")
        #expect(export.text.contains("; 3 without a name in template:"), "\(export.text)")
        let made = try files(site).map { $0.dropFirst("template/".count) }.filter { $0.hasPrefix("a") }
        #expect(made == ["a-40x30.jpg", "a.jpg"])
    }

    @Test(arguments: [
        ("{dir}/{stme}.{ext}", "did you mean '{stem}'?"), ("{dir}/{variant}.{ext}", "without {stem} or {sha256}"),
        ("../{stem}", "does not begin with a dot"), ("{stem", "without its counterpart"),
    ])
    func `a wrong template is refused where it is given`(_ template: String, _ message: String) async throws {
        let outcome = try await LarderCommand(
            "key", "https://h/a.jpg", "--naming", "template:" + template, environment: [:]
        ).run()
        #expect(outcome.code == 2)
        #expect(outcome.errorText.contains(message), "\(outcome.errorText)")
    }

    @Test func `a bucket and an import have no template`() async throws {
        let scene = try await Scene()
        let naming = ["--naming", Self.naming]
        let bucket = try await scene.larder(["cache", "list", "--cache", "s3://bucket/x"] + naming).run()
        #expect(bucket.code == 2, "\(bucket.errorText)")
        let imported = try await scene.larder(["cache", "import", scene.directory.file("b")] + naming).run()
        #expect(imported.code == 2, "\(imported.errorText)")
    }

    @Test func `a YYCache has small images in its database and others in files`() async throws {
        let scene = try await Scene()
        let small = try scene.serve("plain.jpg", at: "/small.jpg")
        let large = scene.origin.url("/large.png")
        let bytes = try await Self.noise(scene)
        scene.origin.on("/large.png", .body(bytes))
        #expect(try await scene.larder("run", small, large, "--batch", "b", "--variant", Self.variant).code == 0)
        let output = scene.directory.file("images")
        let export = ["cache", "export", "--batch", "b", "--as", "yycache", "-o", output]
        let made = try await scene.larder(export).run()
        #expect(made.code == 0, "\(made.errorText)")
        // Read as YYKVStorage reads: the file in `data` if there is a name, else the bytes of the row.
        let read = """
            import hashlib, os, sqlite3, sys
            root = sys.argv[1]
            rows = sqlite3.connect(root + "/manifest.sqlite").execute("select key, filename, size, inline_data,"
                " modification_time > 0, last_access_time > 0, extended_data from manifest order by size")
            for key, name, size, inline, changed, used, extended in rows:
                data = open(f"{root}/data/{name}", "rb").read() if name else inline
                named = name == hashlib.md5(key.encode()).hexdigest() if name else inline is not None
                print(key, "file" if name else "inline", len(data) == size, named, changed, used, extended,
                    hashlib.sha256(data).hexdigest())
            print(sorted(os.listdir(root)))
            """
        let outcome = await (try RunningCommand("/usr/bin/python3", ["-c", read, output], environment: [:], input: []))
            .outcome()
        #expect(outcome.code == 0, "\(outcome.errorText)")
        let lines = outcome.lines
        #expect(lines.count == 3, "\(outcome.text)")
        #expect(lines.first?.hasPrefix("\(small) inline True True 1 1 None ") == true, "\(outcome.text)")
        #expect(lines.dropFirst().first?.hasPrefix("\(large) file True True 1 1 None ") == true, "\(outcome.text)")
        #expect(lines.last == "['data', 'manifest.sqlite', 'trash']")

        let again = try await scene.larder(export).run()
        #expect(again.code == 1)
        #expect(again.errorText.contains("it exists already"), "\(again.errorText)")
        let path = try #require(try await scene.larder("cache", "path", small).lines.first)
        try Data("another picture".utf8).write(to: URL(filePath: path))
        let changed = try await scene.larder(
            "cache", "export", "--batch", "b", "--as", "yycache", "-o", output + "3")
        #expect(changed.code == 1)
        #expect(changed.errorText.contains("changed since the batch stored it: \(small)"), "\(changed.errorText)")
        let none = try await scene.larder(
            "cache", "export", "--batch", "b", "--as", "yycache", "--variant", "none", "-o", output + "2")
        #expect(none.code == 1)
        #expect(none.errorText.contains("the batch has stored nothing as variant none"), "\(none.errorText)")
        #expect(try await scene.larder("cache", "export", "--batch", "b", "--variant", "small", "-o", output).code == 2)
    }

    /// A PNG that is larger than the inline limit.
    private static func noise(_ scene: Scene) async throws -> [UInt8] {
        let file = scene.directory.file("noise.png")
        let draw = """
            import os, sys; from PIL import Image
            Image.frombytes("RGB", (100, 100), os.urandom(30000)).save(sys.argv[1])
            """
        let outcome = await (try RunningCommand("/usr/bin/python3", ["-c", draw, file], environment: [:], input: []))
            .outcome()
        #expect(outcome.code == 0, "\(outcome.errorText)")
        return Array(try Data(contentsOf: URL(filePath: file)))
    }
}
