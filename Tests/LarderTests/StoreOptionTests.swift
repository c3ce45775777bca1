import Foundation
import Glibc
import TestSupport
import Testing

/// The options for stored files and fallback caches.
@Suite(.timeLimit(.minutes(5)))
struct StoreOptionTests {
    private func status(_ path: String) throws -> stat {
        var status = stat()
        try #require(lstat(path, &status) == 0, "\(path)")
        return status
    }

    @Test func `options set the mode and owner of stored files`() async throws {
        let scene = try await Scene()
        let url = try scene.serve("plain.jpg", at: "/a.jpg")
        var options = ["--file-mode", "0640", "--directory-mode", "2750"]
        if geteuid() == 0 { options += ["--owner", "nobody", "--group", "65534"] }
        let run = try await scene.larder(["run", url] + options).run()
        #expect(run.code == 0, "\(run.errorText)")
        let name = try #require(try FileManager.default.contentsOfDirectory(atPath: scene.cache + "/default").first)
        let file = try status(scene.cache + "/default/" + name), directory = try status(scene.cache + "/default")
        #expect(file.st_mode & 0o7777 == 0o640)
        #expect(directory.st_mode & 0o7777 == 0o2750)
        if geteuid() == 0 {
            let nobody = try #require(getpwnam("nobody")).pointee.pw_uid
            #expect(file.st_uid == nobody)
            #expect(file.st_gid == 65534)
            #expect(directory.st_uid == nobody)
        }
    }

    @Test(arguments: [
        ["--file-mode", "8"], ["--file-mode", "77777"], ["--directory-mode", "rwx"], ["--file-mode", "+7"],
        ["--owner", "nobody at all"], ["--group", "4294967295"], ["--durability", "some"],
    ])
    func `unknown modes, users and groups are wrong usage`(options: [String]) async throws {
        var command = LarderCommand(environment: [
            "LARDER_DATABASE_URL": "nonsense", "LARDER_HOME": "/nonexistent/home",
        ])
        command.arguments = ["run", "http://a.example/"] + options
        let outcome = try await command.run()
        #expect(outcome.code == 2, "\(outcome.errorText)")
        #expect(outcome.errorText.contains(options[0]), "\(outcome.errorText)")
    }

    @Test func `a file in a fallback cache spares the download`() async throws {
        let scene = try await Scene()
        let url = try scene.serve("plain.jpg", at: "/a.jpg")
        #expect(try await scene.larder("run", url, "--batch", "first").code == 0)
        let shipped = scene.directory.file("shipped")
        try FileManager.default.moveItem(atPath: scene.cache, toPath: shipped)
        let again = try await scene.larder("run", url, "--batch", "again", "--fallback-cache", shipped, "--json")
        #expect(again.code == 0, "\(again.errorText)")
        #expect(try fields(try #require(again.lines.last))["downloads"] as? Int == 0)
        #expect(scene.origin.count("/a.jpg") == 1)
    }

    @Test func `a file over the size limit of the process is a store error`() async throws {
        let directory = try TemporaryDirectory()
        let origin = try OriginServer()
        origin.on("/long", .body(try TestImage.bytes("plain.jpg") + [UInt8](repeating: 7, count: 1 << 20)))
        let words = [LarderCommand.executable, "fetch", origin.url("/long"), "-o", directory.file("out"), "--json"]
        let outcome = try await RunningCommand(
            "/bin/bash", ["-c", #"ulimit -f 64; exec "$@""#, "bash"] + words,
            environment: [
                "LARDER_HOME": directory.file("home"), "LARDER_ALLOW_ADDRESS": "127.0.0.0/8",
                "LARDER_ALLOW_PORT": "\(origin.port)", "TMPDIR": directory.path,
            ], input: []
        ).outcome()
        #expect(outcome.code == 1, "\(outcome.text) \(outcome.errorText)")
        let error = try fields(try #require(outcome.lines.last))["error"] as? [String: Any]
        #expect(error?["domain"] as? String == "LarderErrorDomain", "\(outcome.text)")
        #expect(error?["code"] as? Int == 403, "\(outcome.text)")
        #expect(!FileManager.default.fileExists(atPath: directory.file("out")))
    }
}
