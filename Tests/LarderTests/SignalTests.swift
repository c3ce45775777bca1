import Glibc
import TestSupport
import Testing

/// The exit codes of docs/commands.md after a signal: a command that handles it ends with the code of its result, every
/// other one by the signal itself, which a shell shows as 130 (SIGINT) or 143 (SIGTERM).
@Suite(.timeLimit(.minutes(5)))
struct SignalTests {
    @Test(arguments: [SIGINT, SIGTERM])
    func `a command that only reads or downloads ends by the signal itself`(signal: Int32) async throws {
        let scene = try await Scene()
        scene.origin.on("/never", .silent)
        let url = scene.origin.url("/never")
        _ = try await scene.larder("enqueue", "--batch", "b", "--at", "+1h", url)
        let watch = try scene.larder(["status", "b", "--watch", "--interval", "1h"]).start()
        let limits = ["--max-runtime", "1h", "--idle-timeout", "1h", "--total-timeout", "1h"]
        let fetch = try scene.larder(["fetch", url] + limits).start()
        #expect(await watch.reaches { !$0.outputSoFar.isEmpty })
        await scene.origin.waitForRequests("/never")
        for command in [watch, fetch] {
            command.signal(signal)
            let outcome = await command.outcome()
            #expect(outcome.code == nil && outcome.signal == signal, "\(outcome)")
        }
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
