import TestSupport
import Testing

/// What a command says of a database that is not there.
@Suite(.timeLimit(.minutes(2)))
struct UnreachableTests {
    @Test(arguments: [["run", "http://127.0.0.1/a.jpg"], ["work"], ["enqueue", "http://127.0.0.1/a.jpg"], ["status"]])
    func `a database that cannot be reached is one line and exit code 1 at once`(words: [String]) async throws {
        let directory = try TemporaryDirectory()
        let dead = try DeadPort()
        // Far below the ten minutes that a worker might ride out.
        var command = LarderCommand(
            environment: [
                "LARDER_HOME": "/dev/null/home", "LARDER_CACHE": directory.file("cache"),
                "LARDER_DATABASE_URL": "postgresql://larder@127.0.0.1:\(dead.port)/larder",
            ], limit: .seconds(45))
        command.arguments = words
        let outcome = try await command.run()
        #expect(!outcome.ranOutOfTime)
        #expect(outcome.code == 1)
        #expect(outcome.output.isEmpty)
        let lines = outcome.errorText.split(separator: "\n")
        #expect(lines.count == 1 && lines.first?.contains("unreachable") == true, "\(outcome.errorText)")
    }
}
