import EmbeddedPostgres
import Foundation
import Glibc
import JobQueue
import TestSupport
import Testing

/// The embedded database is created when a command needs it and runs until it is stopped.
@Suite(.timeLimit(.minutes(5)))
struct DatabaseTests {
    private let home: ClusterHome
    private let origin: OriginServer

    init() throws {
        home = try ClusterHome()
        origin = try OriginServer()
    }

    private func larder(_ arguments: String...) -> LarderCommand {
        var command = LarderCommand(environment: environment)
        command.arguments = arguments
        return command
    }

    private var environment: [String: String] {
        [
            "LARDER_HOME": home.directory.file("home"), "LARDER_ALLOW_ADDRESS": "127.0.0.0/8",
            "LARDER_ALLOW_PORT": "\(origin.port)",
        ]
    }

    private func state() async throws -> String? {
        let outcome = try await larder("db", "status", "--json").run()
        #expect(outcome.code == 0, "\(outcome.errorText)")
        return try fields(try #require(outcome.lines.first))["state"] as? String
    }

    @Test func `the first run creates the embedded database and a stop keeps its data`() async throws {
        #expect(try await state() == "not created")
        #expect(try home.directory.names == [], "looking makes nothing")
        #expect(try await larder("db", "stop").run().code == 0, "and stopping what is not there is no error")

        origin.on("/a.jpg", .body(try TestImage.bytes("plain.jpg")))
        let run = try await larder("run", "--json", origin.url("/a.jpg")).run()
        #expect(run.code == 0, "\(run.errorText)")
        let directory = home.directory.file("home/postgres")
        #expect(run.errorText == "larder: creating the database in \(directory)\n", "\(run.errorText)")
        let path = try #require(try RunLines(run).job(origin.url("/a.jpg")).original?.path)
        #expect(access(home.directory.file("home/cache/\(path)"), R_OK) == 0, "the cache lies in the home, too")
        #expect(try await state() == "running")
        let url = try await larder("db", "url").run().text.trimmingCharacters(in: .newlines)
        #expect(try AdminSession(url).execute("SHOW listen_addresses") == "", "it listens on no network")

        #expect(try await larder("db", "stop").run().text == "stopped\n")
        #expect(try await state() == "stopped")
        let stopped = try await larder("status").run()
        #expect(stopped.code == 1)
        #expect(stopped.errorText.contains("is stopped; 'larder db start' starts it"))
        #expect(try await state() == "stopped", "commands that read start nothing")
        let started = try await larder("db", "start").run()
        #expect(started.code == 0, "\(started.text)")
        #expect(started.errorText == "", "it is there")
        #expect(started.text.contains("sslmode=disable"), "\(started.text)")
        #expect(!started.text.contains("=&"), "\(started.text)")
        #expect(!started.text.hasSuffix("=\n"), "\(started.text)")
        #expect(try await larder("db", "url").run().text.contains("hostaddr=&"), "PGHOSTADDR would be used")
        let again = try await larder("status", "--json").run()
        #expect(again.code == 0)
        #expect(again.lines.count == 1)
        #expect(try fields(again.lines[0])["succeeded"] as? Int == 1)
        #expect(try await larder("db", "stop").run().code == 0)
    }

    @Test func `a worker starts its embedded server again when it was killed`() async throws {
        let gate = OriginGate()
        var reply = OriginReply.body(try TestImage.bytes("plain.jpg"))
        reply.steps.insert(.wait(gate), at: 0)
        origin.on("/a.jpg", reply)
        #expect(try await larder("enqueue", origin.url("/a.jpg")).run().code == 0)
        let worker = try larder("work", "--drain", "--json").start()
        await origin.waitForRequests("/a.jpg")
        let status = try await EmbeddedCluster(home: home.directory.file("home")).status()
        guard case .running(let server) = status.state else {
            Issue.record("the server does not run: \(status.state)")
            return
        }
        #expect(kill(server, SIGKILL) == 0)
        gate.openUp()
        let outcome = await worker.outcome()
        #expect(outcome.code == 0, "\(outcome.errorText)")
        #expect(try fields(try #require(outcome.lines.last))["succeeded"] as? Int == 1)
        #expect(try await state() == "running")
        #expect(try await larder("db", "stop").run().code == 0)
    }

    @Test func `an unusable LARDER_HOME is named and no cluster is created elsewhere`() async throws {
        for command in ["start", "status"] {
            var impossible = larder("db", command, "--json")
            impossible.environment["LARDER_HOME"] = "/dev/null/home"
            let outcome = try await impossible.run()
            #expect(outcome.code == 1)
            let error = try outcome.error
            #expect(error.kind == "LarderErrorDomain 6", "\(error.message)")
            #expect(error.message.contains("/dev/null/home"), "\(error.message)")
        }
    }

    @Test func `commands that start the embedded database at the same time use the same server`() async throws {
        let commands = try (0..<3).map { _ in try larder("db", "start").start() }
        var urls: Set<String> = []
        for command in commands {
            let outcome = await command.outcome()
            #expect(outcome.code == 0, "\(outcome.errorText)")
            urls.insert(outcome.text)
        }
        #expect(urls.count == 1)
        #expect(try await larder("db", "stop").run().code == 0)
    }

    @Test(.enabled(if: geteuid() == 0, "only root can become an ordinary user"))
    func `an ordinary user has an embedded database of their own`() async throws {
        guard try await OrdinaryUser.canRunLarder() else { return }
        let place = home.directory.file("nobody")
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: false)
        #expect(chown(place, OrdinaryUser.id, OrdinaryUser.id) == 0)
        origin.on("/a.jpg", .body(try TestImage.bytes("plain.jpg")))
        func nobody(_ arguments: String...) async throws -> CommandOutcome {
            let environment = environment.merging(["LARDER_HOME": "\(place)/home", "PATH": "/usr/bin:/bin"]) { $1 }
            return try await RunningCommand(
                OrdinaryUser.words[0],
                Array(OrdinaryUser.words.dropFirst()) + [LarderCommand.executable] + arguments,
                environment: environment, input: []
            ).outcome()
        }
        let run = try await nobody("run", "--json", "--variant", Variants.small, origin.url("/a.jpg"))
        #expect(run.code == 0, "\(run.errorText)")
        let status = try await nobody("db", "status", "--json")
        let line = try fields(try #require(status.lines.first))
        #expect(line["state"] as? String == "running")
        #expect(line["directory"] as? String == "\(place)/home/postgres")
        var owner = stat()
        #expect(stat("\(place)/home/postgres/data/PG_VERSION", &owner) == 0)
        #expect(owner.st_uid == OrdinaryUser.id)
        #expect(try await nobody("db", "stop").code == 0)
    }

    @Test(.enabled(if: geteuid() == 0, "only root can hide the server's programs"))
    func `an error for missing server programs names their package`() async throws {
        let command = try RunningCommand(
            "unshare",
            [
                "-m", "sh", "-c", "mount -t tmpfs none /usr/lib/postgresql || exit 77; exec \"$0\" db start --json",
                LarderCommand.executable,
            ],
            environment: environment.merging(["PATH": "/usr/bin:/bin:/usr/sbin:/sbin"]) { $1 }, input: [])
        let outcome = await command.outcome()
        if outcome.code == 77 || outcome.errorText.hasPrefix("unshare:") {
            print("note: no mount namespace can be had here: the test with missing server programs does not run")
            return
        }
        #expect(outcome.code == 1)
        let error = try outcome.error
        #expect(error.kind == "LarderErrorDomain 6")
        #expect(error.message.contains("/usr/lib/postgresql"))
        #expect(error.message.contains("package postgresql"))
    }
}
