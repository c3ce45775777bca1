import Foundation
import Glibc
import Prefetcher
import TestSupport
import Testing

/// `--from-directory`, and paths where URLs are expected.
@Suite(.timeLimit(.minutes(5)))
struct DirectoryListTests {
    private let scene: Scene
    private let root: String
    private let image: [UInt8]

    init() async throws {
        scene = try await Scene()
        root = scene.directory.file("photos")
        image = try TestImage.bytes("plain.jpg")
        try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
    }

    /// Writes an image at a path below the directory, which need not be UTF-8.
    private func put(_ path: some Sequence<UInt8>) throws {
        let bytes = Array(root.utf8) + [UInt8(ascii: "/")] + Array(path)
        if let slash = bytes.lastIndex(of: UInt8(ascii: "/")) {
            try FileManager.default.createDirectory(
                atPath: String(decoding: bytes[..<slash], as: UTF8.self), withIntermediateDirectories: true)
        }
        let file = (bytes + [0]).map { CChar(bitPattern: $0) }.withUnsafeBufferPointer { path in
            path.baseAddress.map { open($0, O_CREAT | O_WRONLY | O_CLOEXEC, 0o644) } ?? -1
        }
        try #require(file >= 0)
        defer { close(file) }
        #expect(image.withUnsafeBytes { write(file, $0.baseAddress, $0.count) } == image.count)
    }

    private func urls() async throws -> [String] {
        try await scene.sql("SELECT string_agg(url, E'\\n' ORDER BY id) FROM larder_data.job")?
            .split(separator: "\n").map(String.init) ?? []
    }

    @Test func `1,000 images in a tree are stored, and links, pipes and other files are left out`() async throws {
        for number in 0..<1_000 { try put("d\(number / 100)/e\(number / 10)/\(number).JPG".utf8) }
        for other in ["d1/notes.txt", "d1/.hidden.jpg", ".git/a.jpg", "d1/jpg"] { try put(other.utf8) }
        #expect(mkfifo(root + "/d1/pipe.jpg", 0o600) == 0)
        for (name, target) in [("d2/link.jpg", "../d1/e1/10.JPG"), ("d2/up", scene.directory.path), ("d2/loop", "..")] {
            try FileManager.default.createSymbolicLink(atPath: "\(root)/\(name)", withDestinationPath: target)
        }
        let run = try await scene.larder("run", "--json", "--slots", "64", "--from-directory", root)
        #expect(run.code == 0, "\(run.errorText)")
        let report = try RunLines(run).report
        #expect(report.total == 1_000)
        #expect(report.succeeded == 1_000)
        #expect(scene.stored.count == 1_000)
        #expect(try await scene.faults() == [])
    }

    @Test func `names with any bytes become URLs that lead back to their files`() async throws {
        let names: [[UInt8]] = [
            Array("a\nb.jpg".utf8), Array("100%.jpg".utf8), Array("a%20b.jpg".utf8), Array("a b.jpg".utf8),
            Array("q?x#y.jpg".utf8), Array("é日.jpg".utf8), [0xff, 0xfe] + Array(".jpg".utf8),
            Array("\u{1B}[2J.jpg".utf8),
            Array("'\"$`\\;&.jpg".utf8),
        ]
        for name in names { try put(name) }
        let run = try await scene.larder("run", "--json", "--from-directory", root)
        #expect(run.code == 0, "\(run.text)\(run.errorText)")
        for name in names {
            let url = FileURL.text(Array("\(root)/".utf8) + name)
            #expect(try RunLines(run).job(url).outcome == "succeeded", "\(url)")
        }
        #expect(scene.stored.count == names.count)
    }

    @Test func `files are enqueued in the order of their names, or as patterns choose them`() async throws {
        for name in ["b.jpg", "a/z.png", "a/c.tif", "c.tif", "a/d/e.jpg"] { try put(name.utf8) }
        let all = try await scene.larder("enqueue", "--batch", "all", "--from-directory", root + "/./")
        #expect(all.code == 0, "\(all.errorText)")
        #expect(try await urls() == ["a/d/e.jpg", "a/z.png", "b.jpg"].map { "file://\(root)/\($0)" })
        let some = try await scene.larder(
            "enqueue", "--json", "--dry-run", "--from-directory", root, "--glob", "*.tif", "--glob", "a/*.png")
        #expect(some.code == 0, "\(some.errorText)")
        let given = try some.lines.map { try fields($0)["url"] as? String }
        #expect(given == ["a/c.tif", "a/z.png", "c.tif"].map { "file://\(root)/\($0)" })
    }

    @Test func `files of formats that are accepted on request are counted, and taken where they are allowed`()
        async throws
    {
        for name in ["a.jpg", "b.SVG", "c/d.pdf", "e.pdf", "notes.txt"] { try put(name.utf8) }
        let counts = "larder: \(root): 3 files skipped: not an accepted format (.pdf 2, .svg 1); "
        let queued = try await scene.larder("enqueue", "--dry-run", "--from-directory", root)
        #expect(queued.errorText == counts + "--glob '*.pdf' --glob '*.svg' takes them\n")
        let run = try await scene.larder("run", "--from-directory", root)
        #expect(
            run.errorText.contains(counts + "--allow-format pdf --allow-format svg takes them\n"), "\(run.errorText)")
        // By their bytes they are JPEG files.
        let open = try await scene.larder(
            "run", "--json", "--from-directory", root, "--allow-format", "svg", "--allow-format", "pdf")
        #expect(!open.errorText.contains("skipped"), "\(open.errorText)")
        #expect(try RunLines(open).report.total == 4)
    }

    @Test func `a directory without images is wrong usage, and its URL says the option`() async throws {
        let empty = try await scene.larder("run", "--from-directory", root)
        #expect(empty.code == 2)
        #expect(empty.errorText.contains("run: no images in \(root)"), "\(empty.errorText)")
        let url = try await scene.larder("run", "file://\(root)")
        #expect(url.code == 2)
        #expect(url.errorText.contains("--from-directory \(root) takes"), "\(url.errorText)")
        #expect(try await scene.sql("SELECT count(*) FROM larder_data.batch") == "0")
    }

    @Test func `a worker with --allow-path loads what another command has enqueued`() async throws {
        try put("a.jpg".utf8)
        #expect(try await scene.larder("enqueue", "--batch", "b", "--from-directory", root).code == 0)
        let worked = try await scene.larder("work", "--drain", "--allow-path", root)
        #expect(worked.code == 0, "\(worked.errorText)")
        #expect(scene.stored.count == 1)
    }

    @Test func `a path in place of a URL is refused before a batch exists, with the way out`() async throws {
        try put("a.jpg".utf8)
        let cases = [
            (root, "--from-directory"), (root + "/a.jpg", "--allow-path"), ("./none.jpg", "no such file"),
            ("*.jpg", "no such file"),
        ]
        for command in ["run", "enqueue"] {
            for (path, way) in cases {
                let outcome = try await scene.larder(command, "http://a.example/1.jpg", path)
                #expect(outcome.code == 2, "\(command) \(path)")
                #expect(outcome.errorText.contains(way), "\(outcome.errorText)")
            }
            for (option, path) in [
                ("--from-directory", root + "/a.jpg"), ("--from-directory", "/none"),
            ] {
                let outcome = try await scene.larder(command, option, path)
                #expect(outcome.code == 2, "\(command) \(option) \(path)")
                #expect(outcome.errorText.contains(path), "\(outcome.errorText)")
            }
        }
        #expect(try await scene.sql("SELECT count(*) FROM larder_data.batch") == "0")
    }
}
