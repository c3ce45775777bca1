import TestSupport
import Testing

/// A batch whose list breaks off never hangs open unnoticed.
@Suite(.timeLimit(.minutes(5)))
struct InterruptedBatchTests {
    @Test(arguments: ["enqueue", "run"])
    func `a batch without a name is sealed when its list cannot be read to the end`(command: String) async throws {
        let scene = try await Scene()
        // The operand comes first; then reading a directory fails.
        let outcome = try await scene.larder(
            command, "--json", "--from", scene.directory.path, try scene.serve("plain.jpg", at: "/a.jpg"))
        #expect(outcome.code == 1)
        let batch = try #require(try await scene.sql("SELECT batch_id FROM larder.progress"))
        #expect(try await scene.sql("SELECT sealed_at IS NOT NULL FROM larder.progress") == "t")
        #expect(try outcome.error.message.contains("batch \(batch) is sealed"))
        #expect(try outcome.error.kind == "LarderErrorDomain 2")
    }

    @Test(arguments: ["enqueue", "run"])
    func `a batch with a name stays open, so that the command can be given again, and is named`(command: String)
        async throws
    {
        let scene = try await Scene()
        let url = try scene.serve("plain.jpg", at: "/a.jpg")
        let outcome = try await scene.larder(
            command, "--json", "--batch", "spring", "--from", scene.directory.path, url)
        #expect(outcome.code == 1)
        #expect(try outcome.error.message.contains("batch spring is open"))
        #expect(try await scene.larder("run", "--batch", "spring", url).code == 0)
        #expect(try await scene.sql("SELECT state FROM larder.progress") == "finished")
    }
}
