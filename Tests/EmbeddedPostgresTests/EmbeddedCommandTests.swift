import Glibc
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5)))
struct EmbeddedCommandTests {
    private func shell(_ script: String, input: String = "", limit: Duration = .seconds(30)) throws -> RunningCommand {
        try RunningCommand(
            "sh", ["-c", script], environment: ["PATH": "/usr/bin:/bin", "WORD": "given"], input: Array(input.utf8),
            limit: limit)
    }

    @Test func `input, environment, outputs and exit code pass through`() async throws {
        let outcome = try await shell("cat; echo $WORD; echo oops >&2; exit 4", input: "first\n").outcome()
        #expect(outcome.lines == ["first", "given"])
        #expect(outcome.errorText == "oops\n")
        #expect(outcome.code == 4)
        #expect(outcome.signal == nil)
        #expect(!outcome.ranOutOfTime)
    }

    @Test func `a command over its time limit is killed and reported as such`() async throws {
        let outcome = try await shell("echo begun; exec sleep 1000", limit: .milliseconds(50)).outcome()
        #expect(outcome.ranOutOfTime)
        #expect(outcome.signal == SIGKILL)
        #expect(outcome.code == nil)
    }

    @Test func `a background command can be watched and signalled`() async throws {
        let command = try shell("echo ready; exec sleep 1000")
        let ready = await command.reaches { $0.outputSoFar == Array("ready\n".utf8) }
        #expect(ready)
        #expect(kill(command.processID, 0) == 0)
        command.signal(SIGTERM)
        let outcome = await command.outcome()
        #expect(outcome.signal == SIGTERM)
        #expect(!(await command.reaches { _ in false }))
    }
}
