import TestSupport
import Testing

/// Batches whose names look like numbers.
@Suite(.timeLimit(.minutes(5)))
struct BatchNameTests {
    @Test func `a batch is looked for by its name first, then by its number`() async throws {
        let scene = try await Scene()
        let url = scene.origin.url("/a.jpg")
        _ = try await scene.larder("enqueue", "--batch", "2026", url)
        let first = try #require(try await scene.sql("SELECT batch_id FROM larder.progress"))
        // Named like the number of the first.
        _ = try await scene.larder("enqueue", "--batch", first, url)
        for command in ["report", "status"] {
            let byName = try fields(try #require(try await scene.larder(command, "2026", "--json").lines.last))
            #expect(byName["batch"] as? String == "2026", "\(command)")
            let likeNumber = try fields(try #require(try await scene.larder(command, first, "--json").lines.last))
            #expect(likeNumber["batch"] as? String == first && likeNumber["id"] as? Int != Int(first), "\(command)")
            let unknown = try await scene.larder(command, "987654321", "--json")
            #expect(unknown.code == 1)
            #expect(try unknown.error.kind == "LarderErrorDomain 5")
        }
        _ = try await scene.larder("enqueue", url)
        let third = try #require(
            try await scene.sql("SELECT batch_id FROM larder.progress WHERE batch IS NULL"))
        let byNumber = try fields(try #require(try await scene.larder("report", third, "--json").lines.last))
        #expect(byNumber["id"] as? Int == Int(third))
    }
}
