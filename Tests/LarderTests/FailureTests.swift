import Foundation
import Glibc
import TestSupport
import Testing

/// Faults of the cache, the database and the queue: the error names the cause, and no partial result is left.
@Suite(.timeLimit(.minutes(5)))
struct FailureTests {
    /// Runs a command that must fail with this kind of error, as text and as JSON; returns the message.
    private func expectFailure(
        _ command: LarderCommand, _ kind: String, code: Int32 = 1, _ location: SourceLocation = #_sourceLocation
    ) async throws -> String {
        var verbose = command
        verbose.arguments.append("-v")
        let plain = try await verbose.run()
        #expect(plain.code == code, "\(plain.errorText)", sourceLocation: location)
        #expect(plain.errorText.filter(\.isNewline).count == 1, "\(plain.errorText)", sourceLocation: location)
        #expect(plain.errorText.hasPrefix("larder: "), sourceLocation: location)
        #expect(plain.errorText.hasSuffix("(\(kind))\n"), "\(plain.errorText)", sourceLocation: location)
        var json = command
        json.arguments.append("--json")
        let outcome = try await json.run()
        #expect(outcome.code == code, sourceLocation: location)
        #expect(outcome.lines.count == 1, "\(outcome.errorText)", sourceLocation: location)
        #expect(outcome.errorText == "", "\(outcome.errorText)", sourceLocation: location)
        let error = try outcome.error
        #expect(error.kind == kind, "\(error.message)", sourceLocation: location)
        return error.message
    }

    // MARK: The cache

    @Test func `a cache directory that is a file is an error before URLs are enqueued`() async throws {
        let scene = try await Scene()
        let url = try scene.serve("plain.jpg", at: "/a.jpg")
        try scene.directory.write("a file".utf8, to: "cache")
        for words in [["run", url], ["work", "--drain"]] {
            let message = try await expectFailure(scene.larder(words), "LarderErrorDomain 403")
            #expect(message.contains(scene.cache))
        }
        #expect(try await scene.sql("SELECT count(*) FROM larder_data.batch") == "0")
        #expect(scene.origin.requests.isEmpty)
    }

    @Test(.enabled(if: geteuid() != 0 || access("/usr/bin/setpriv", X_OK) == 0, "root may write anywhere"))
    func `an unwritable cache directory is named`() async throws {
        let scene = try await Scene()
        try FileManager.default.createDirectory(
            atPath: scene.cache, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o555])
        var words = [LarderCommand.executable, "work", "--drain"]
        if geteuid() == 0 {
            words = OrdinaryUser.words + words
            guard try await OrdinaryUser.canRunLarder() else { return }
        }
        let command = try RunningCommand(
            words[0], Array(words.dropFirst()),
            environment: scene.environment.merging(["PATH": "/usr/bin:/bin"]) { $1 },
            input: [])
        let outcome = await command.outcome()
        #expect(outcome.code == 1)
        #expect(outcome.errorText.contains(scene.cache))
        #expect(!outcome.errorText.contains("ErrorDomain"), "\(outcome.errorText)")
    }

    @Test(.enabled(if: geteuid() == 0, "only root can mount a small file system"))
    func `a run on a full disk stores what fits, leaves no partial files, and fails no job until its time is up`()
        async throws
    {
        let scene = try await Scene()
        try FileManager.default.createDirectory(atPath: scene.cache, withIntermediateDirectories: false)
        guard mount("none", scene.cache, "tmpfs", 0, "size=64k") == 0 else {
            print("note: no tmpfs can be mounted here: the test with a full disk does not run")
            return
        }
        defer { umount2(scene.cache, Int32(MNT_DETACH)) }
        // Large enough that not all of them fit. Bytes after the end of a JPEG are ignored.
        let image = try TestImage.bytes("plain.jpg") + [UInt8](repeating: 0, count: 20_000)
        let urls = (0..<6).map { number in
            scene.origin.on("/\(number)", .body(image))
            return scene.origin.url("/\(number)")
        }
        let words = ["run", "--json", "--retries", "0", "--variant", Variants.small]
        let outcome = try await scene.larder(words + ["--max-runtime", "3s"] + urls).run()
        #expect(outcome.code == 3, "\(outcome.errorText)")
        let lines = try RunLines(outcome)
        #expect(lines.jobs.allSatisfy { $0.outcome == "succeeded" })
        #expect(lines.jobs.count < urls.count)
        #expect(outcome.errorText.contains("this machine has a fault: "))
        #expect(outcome.errorText.contains("No space left on device"))
        #expect(outcome.errorText.contains(scene.cache))
        #expect(scene.temporary == [])
        for job in lines.jobs where job.outcome == "succeeded" {
            #expect(try scene.bytes(job.original?.path) == image)
        }
        #expect(mount("none", scene.cache, "tmpfs", UInt(MS_REMOUNT), "size=4m") == 0)
        #expect(try await scene.larder(words + urls).run().code == 0, "what a full disk failed is never blocked")
        #expect(try await scene.faults() == [])
    }

    // MARK: The database

    @Test func `an unreachable database is an error at once without the password`() async throws {
        let scene = try await Scene()
        let socket = "postgresql:///larder?host=\(scene.directory.file("nobody"))"
        let port = "postgresql://larder:s3cret@127.0.0.1:\(scene.dead.port)/larder"
        for url in [socket, port] {
            for words in [["status"], ["report", "1"], ["enqueue", "http://a.example/"], ["migrate"]] {
                let message = try await expectFailure(
                    scene.larder(words + ["--database", url]), "LarderErrorDomain 5")
                #expect(!message.contains("s3cret"))
                #expect(message.contains(url == socket ? "nobody" : "\(scene.dead.port)"), "\(message)")
            }
        }
        for words in [["run", "http://a.example/"], ["work", "--drain"]] {
            var command = scene.larder(words + ["--database", socket])
            command.limit = .seconds(30)
            _ = try await expectFailure(command, "LarderErrorDomain 5")
        }
    }

    @Test func `a malformed database URL is an error at once`() async throws {
        let scene = try await Scene()
        for url in ["nonsense", "mysql://a.example/larder", "postgresql://a.example:port/larder"] {
            _ = try await expectFailure(scene.larder(["status", "--database", url]), "LarderErrorDomain 5")
        }
    }

    @Test func `a database without the schema is unchanged and the error names larder migrate`() async throws {
        let scene = try await Scene()
        let empty = try await TemporaryDatabase.make()
        for words in [
            ["status"], ["run", "http://a.example/"], ["enqueue", "http://a.example/"], ["work", "--drain"],
        ] {
            let message = try await expectFailure(
                scene.larder(words + ["--database", empty.url]), "LarderErrorDomain 5")
            let printed = String(message.split(separator: "; this migrates it: ").last ?? "")
            #expect(try await scene.shell(printed + " --status").code == 0, "\(message)")
        }
        let url = try scene.serve("plain.jpg", at: "/a.jpg")
        #expect(try await scene.larder("run", "--migrate", "--database", empty.url, url).code == 0)
        let again = try await scene.larder("migrate", "--database", empty.url)
        #expect(again.code == 0)
        #expect(again.text == "nothing to do\n")
    }

    @Test func `migrate prints applied and pending migrations`() async throws {
        let scene = try await Scene()
        let empty = try await TemporaryDatabase.make()
        func steps(_ words: String...) async throws -> [[String: Any]] {
            try await scene.larder(["migrate", "--json", "--database", empty.url] + words).run().lines.map(fields)
        }
        let pending = try await steps("--status")
        #expect(pending.count >= 6)
        #expect(pending.allSatisfy { $0["appliedAt"] is NSNull })
        let plan = try await steps("--dry-run")
        #expect(plan.map { $0["name"] as? String } == pending.map { $0["name"] as? String })
        let text = try await scene.larder("migrate", "--dry-run", "--database", empty.url).text
        #expect(text.hasPrefix("-- migration 0001_schema\n"))
        #expect(text.contains("CREATE TABLE larder_data.job ("))
        #expect(try await steps("--status").allSatisfy { $0["appliedAt"] is NSNull })
        #expect(try await steps().count == pending.count)
        let applied = try await steps("--status")
        #expect(applied.allSatisfy { $0["appliedAt"] is String })
        #expect(applied.map { $0["number"] as? Int } == (1...applied.count).map { $0 })
        #expect(try await steps("--dry-run").isEmpty)
    }

    @Test func `migrate refuses a newer schema that workers still accept`() async throws {
        let scene = try await Scene()
        _ = try await scene.sql(
            "INSERT INTO larder_data.migration (number, name, checksum) VALUES (9999, '9999_future', sha256(''))")
        let message = try await expectFailure(scene.larder(["migrate"]), "LarderErrorDomain 5")
        #expect(message.contains("9999_future"))
        let url = try scene.serve("plain.jpg", at: "/a.jpg")
        #expect(try await scene.larder("run", url).code == 0)
        _ = try await scene.sql("UPDATE larder_data.settings SET protocol_oldest = 2, protocol_newest = 3")
        for words in [["work", "--drain"], ["run", url]] {
            let message = try await expectFailure(scene.larder(words), "LarderErrorDomain 5")
            #expect(message.contains("2 to 3"), "\(message)")
        }
    }

    @Test func `a changed migration is refused by name`() async throws {
        let scene = try await Scene()
        _ = try await scene.sql("UPDATE larder_data.migration SET checksum = sha256('other') WHERE number = 2")
        #expect(try await expectFailure(scene.larder(["migrate"]), "LarderErrorDomain 5").contains("0002"))
    }

    // MARK: The queue

    @Test func `errors name unknown and closed batches and pipelines`() async throws {
        let scene = try await Scene()
        let url = try scene.serve("plain.jpg", at: "/a.jpg")
        for words in [
            ["status", "nobody"], ["report", "nobody"], ["report", "nobody", "--files"], ["status", "77", "--watch"],
        ] {
            let message = try await expectFailure(scene.larder(words), "LarderErrorDomain 5")
            #expect(message.contains(words[1]), "\(message)")
        }
        let pipeline = try await expectFailure(
            scene.larder(["enqueue", "--pipeline", "nobody", url]), "LarderErrorDomain 5")
        #expect(pipeline.contains("nobody"))
        #expect(try await scene.larder("enqueue", "--batch", "spring", url).code == 0)
        for command in ["enqueue", "run"] {
            let message = try await expectFailure(
                scene.larder([command, "--batch", "spring", url]), "LarderErrorDomain 5")
            #expect(message.contains("spring"), "\(message)")
            #expect(message.contains("closed"), "\(message)")
        }
        let total = try await scene.sql("SELECT total FROM larder.progress WHERE batch = 'spring'")
        #expect(total == "1")
    }

    @Test func `an open batch accepts URLs until it is sealed`() async throws {
        let scene = try await Scene()
        for number in 1...2 {
            let outcome = try await scene.larder(
                "enqueue", "--open", "--batch", "spring", "http://a.example/\(number).jpg")
            #expect(outcome.code == 0)
        }
        #expect(try await scene.larder("enqueue", "--batch", "spring", "http://a.example/3.jpg").code == 0)
        #expect(try await scene.sql("SELECT total || ' ' || state FROM larder.progress") == "3 sealed")
    }
}
