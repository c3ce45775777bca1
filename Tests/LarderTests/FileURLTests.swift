import Foundation
import TestSupport
import Testing

/// `file:` URLs of jobs.
@Suite(.timeLimit(.minutes(5)))
struct FileURLTests {
    private let scene: Scene
    private let root: String

    init() async throws {
        scene = try await Scene()
        root = scene.directory.file("files")
        try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
        try Data(try TestImage.bytes("plain.jpg")).write(to: URL(filePath: root + "/a b.jpg"))
    }

    @Test func `a file is read once below --allow-path, and stored under its URL as the key`() async throws {
        let url = "file://\(root)/a%20b.jpg"
        for _ in 0..<2 {
            let run = try await scene.larder("run", "--json", "--allow-path", root, url)
            #expect(run.code == 0, "\(run.text)\(run.errorText)")
            #expect(try RunLines(run).job(url).outcome == "succeeded")
        }
        let path = try #require(try await scene.larder("cache", "path", url).lines.first)
        #expect(try [UInt8](Data(contentsOf: URL(filePath: path))) == TestImage.bytes("plain.jpg"))
        #expect(try await scene.sql("SELECT sum(downloads) FROM larder_data.job_history") == "1")
        #expect(try await scene.sql("SELECT string_agg(name, ' ') FROM larder_data.origin") == "file://")
        #expect(try await scene.faults() == [])
    }

    @Test func `a file outside is failed with the option that allows it, and not blocked`() async throws {
        let url = "file://\(root)/a%20b.jpg"
        let other = scene.directory.file("home")
        try FileManager.default.createDirectory(atPath: other, withIntermediateDirectories: true)
        let closed = try await scene.larder("run", "--json", "--allow-path", other, url)
        #expect(closed.code == 1)
        #expect(try RunLines(closed).failure(url).kind == "LarderErrorDomain 101")
        #expect(try RunLines(closed).failure(url).message.contains("--allow-path DIR accepts it"))
        #expect(closed.errorText.contains("--allow-path \(root)"), "\(closed.errorText)")
        let list = try scene.directory.write("\(url)\n".utf8, to: "list")
        let listed = try await scene.larder("run", "--allow-path", other, "--from", list)
        #expect(listed.errorText.contains("--allow-path DIR"), "\(listed.errorText)")
        #expect(!listed.errorText.contains("--allow-path \(root)"), "\(listed.errorText)")
        let opened = try await scene.larder("run", "--json", "--allow-path", root, url)
        #expect(opened.code == 0, "\(opened.text)")
    }

    @Test func `a missing file fails at once`() async throws {
        let url = "file://\(root)/none.jpg"
        let lines = try RunLines(try await scene.larder("run", "--json", "--allow-path", root, url))
        #expect(try lines.failure(url).kind == "NSURLErrorDomain -1100")
        #expect(try lines.failure(url).attempts == 1)
    }

    @Test func `no redirect leads to a file, whatever is allowed`() async throws {
        let url = scene.origin.url("/r.jpg")
        scene.origin.on("/r.jpg", .redirect(to: "file://\(root)/a%20b.jpg"))
        let lines = try RunLines(try await scene.larder("run", "--json", "--allow-path", root, url))
        #expect(try lines.failure(url).kind == "NSURLErrorDomain -1002")
        #expect(scene.stored == [])
    }

    @Test func `fetch reads a file by the same rules`() async throws {
        let copy = scene.directory.file("copy.jpg")
        let url = "file://\(root)/a%20b.jpg"
        let fetched = try await scene.larder("fetch", "--allow-path", root, "-o", copy, url)
        #expect(fetched.code == 0, "\(fetched.errorText)")
        #expect(try [UInt8](Data(contentsOf: URL(filePath: copy))) == TestImage.bytes("plain.jpg"))
        let closed = try await scene.larder("fetch", "--json", url)
        #expect(closed.code == 1)
        #expect(try closed.error.code == 101)
    }

    @Test func `a directory that does not exist is wrong usage`() async throws {
        for command in ["run", "fetch"] {
            let outcome = try await scene.larder(command, "--allow-path", root + "/none", "file:///a.jpg")
            #expect(outcome.code == 2)
            #expect(outcome.errorText.contains("--allow-path: cannot open '\(root)/none'"), "\(outcome.errorText)")
        }
        #expect(try await scene.sql("SELECT count(*) FROM larder_data.batch") == "0")
    }
}
