import TestSupport
import Testing

/// Batches that are given by name or by number.
@Suite(.timeLimit(.minutes(5)))
struct BatchNameTests {
    @Test func `a batch is found by name first and then by number`() async throws {
        let scene = try await Scene()
        let first = try #require(try await scene.sql("SELECT larder.batch_open('2026')"))
        // Named like the number of the first.
        _ = try await scene.sql("SELECT larder.batch_open('\(first)')")
        for command in ["report", "status"] {
            let byName = try fields(try #require(try await scene.larder(command, "2026", "--json").lines.last))
            #expect(byName["batch"] as? String == "2026", "\(command)")
            let likeNumber = try fields(try #require(try await scene.larder(command, first, "--json").lines.last))
            #expect(
                likeNumber["batch"] as? String == first && likeNumber["batchID"] as? Int != Int(first), "\(command)")
            let unknown = try await scene.larder(command, "987654321", "--json")
            #expect(unknown.code == 1)
            #expect(try unknown.error.kind == "LarderErrorDomain 5")
        }
        let third = try #require(try await scene.sql("SELECT larder.batch_open(NULL)"))
        let byNumber = try fields(try #require(try await scene.larder("report", third, "--json").lines.last))
        #expect(byNumber["batchID"] as? Int == Int(third) && byNumber["batch"] as? String == third)
    }

    @Test func `every output shows the number of a named batch`() async throws {
        let scene = try await Scene()
        let answers = try await scene.larder("enqueue", "--json", "--batch", "spring", "http://a.example/1.jpg")
        let answer = try fields(try #require(answers.lines.first))
        #expect(answer["batch"] as? String == "spring")
        let number = try #require(answer["batchID"] as? Int)
        for words in [
            ["report", "spring"], ["status"], ["pause", "spring"], ["resume", "spring"], ["cancel", "spring"],
        ] {
            let line = try fields(try #require(try await scene.larder(words + ["--json"]).run().lines.last))
            #expect(line["batch"] as? String == "spring" && line["batchID"] as? Int == number, "\(words)")
            #expect(try await scene.larder(words).run().text.contains("spring (\(number))"), "\(words)")
        }
        #expect(try await scene.larder("report", "\(number)").code == 0)
    }
}
