import Glibc
import TestSupport
import Testing

/// The exit codes of docs/commands.md after a signal: a command that handles it ends with the code of its result, every
/// other one by the signal itself, which a shell shows as 129 (SIGHUP), 130 (SIGINT) or 143 (SIGTERM).
@Suite(.timeLimit(.minutes(5)))
struct SignalTests {
    @Test(arguments: [SIGHUP, SIGINT, SIGTERM])
    func `a command that only reads or downloads ends by the signal itself`(signal: Int32) async throws {
        let scene = try await Scene()
        scene.origin.on("/never", .silent)
        let url = scene.origin.url("/never")
        _ = try await scene.larder("enqueue", "--batch", "b", "--at", "+1h", url)
        let watch = try scene.larder(["status", "b", "--watch", "--interval", "1h"]).start()
        let limits = ["--max-runtime", "1h", "--idle-timeout", "1h", "--total-timeout", "1h"]
        let place = try TemporaryDirectory()
        let fetch = try scene.larder(["fetch", url, "-o", place.file("image")] + limits).start()
        #expect(await watch.reaches { !$0.outputSoFar.isEmpty })
        await scene.origin.waitForRequests("/never")
        for command in [watch, fetch] {
            command.signal(signal)
            let outcome = await command.outcome()
            #expect(outcome.code == nil, "\(outcome)")
            #expect(outcome.signal == signal, "\(outcome)")
        }
        #expect(try place.names == [], "a part of the output file stays")
    }

    @Test func `run ends in order when its terminal closes, and goes on below nohup`() async throws {
        let scene = try await Scene()
        let gate = OriginGate()
        var reply = OriginReply.body(try TestImage.bytes("plain.jpg"))
        reply.steps.insert(.wait(gate), at: 0)
        for target in ["/a.jpg", "/b.jpg"] { scene.origin.on(target, reply) }
        let run = try scene.larder(["run", "--grace", "0s", scene.origin.url("/a.jpg")]).start()
        await scene.origin.waitForRequests("/a.jpg")
        run.signal(SIGHUP)
        let ended = await run.outcome()
        #expect(ended.code == 1, "\(ended.errorText)")
        #expect(ended.errorText.contains("1 item left"), "\(ended.errorText)")

        let other = scene.larder(["run", scene.origin.url("/b.jpg")])
        let below = try RunningCommand(
            "/usr/bin/nohup", [LarderCommand.executable] + other.arguments, environment: other.environment, input: [])
        await scene.origin.waitForRequests("/b.jpg")
        below.signal(SIGHUP)
        gate.openUp()
        #expect(await below.outcome().code == 0)
    }

    @Test func `a worker that waits for its database ends with 0`() async throws {
        let scene = try await Scene()
        let worker = try scene.larder(["work", "--database", "postgresql://127.0.0.1:9/none"]).start()
        #expect(await worker.reaches { String(decoding: $0.errorsSoFar, as: UTF8.self).contains("waiting for it") })
        worker.signal(SIGTERM)
        let outcome = await worker.outcome()
        #expect(outcome.code == 0, "\(outcome)")
    }

    @Test func `a shell shows 143 for such a command after SIGTERM`() async throws {
        let scene = try await Scene()
        _ = try await scene.larder("enqueue", "--batch", "b", "--at", "+1h", scene.origin.url("/never"))
        let outcome = try await scene.shell(
            """
            mkfifo lines
            exec 3<>lines
            larder status b --watch --interval 1h >&3 &
            read -r line <&3 && kill -TERM $! && wait $!
            echo "$?"
            """)
        #expect(outcome.lines.last == "143", "\(outcome)")
    }

    @Test(arguments: [SIGINT, SIGTERM])
    func `an idle worker ends with 0 after either signal`(signal: Int32) async throws {
        let scene = try await Scene()
        let worker = try scene.larder(["work"]).start()
        try await scene.until("EXISTS (SELECT FROM larder.worker)")
        worker.signal(signal)
        #expect(await worker.outcome().code == 0)
    }
}
