import TestSupport
import Testing

/// Batches that are given by name or by number.
@Suite(.timeLimit(.minutes(5)))
struct BatchNameTests {
    @Test func `a batch in digits is an id, and a name that is all digits is refused`() async throws {
        let scene = try await Scene()
        let refused = try await scene.larder("enqueue", "--json", "--batch", "2026", "http://a.example/1.jpg")
        #expect(refused.code == 2)
        let id = try #require(try await scene.sql("SELECT larder.batch_open(NULL)"))
        let byID = try fields(try #require(try await scene.larder("report", id, "--json").lines.last))
        #expect(byID["batchID"] as? Int == Int(id))
        #expect(byID["batch"] as? String == id)
        for command in ["report", "status"] {
            let unknown = try await scene.larder(command, "987654321", "--json")
            #expect(unknown.code == 1)
            #expect(try unknown.error.kind == "LarderErrorDomain 5")
        }
    }

    @Test func `a dry run takes no batch number`() async throws {
        let scene = try await Scene()
        for batch in ["one", "two"] {
            let dry = try await scene.larder("enqueue", "--dry-run", "--batch", batch, "http://a.example/1.jpg")
            #expect(dry.text.contains("1 inserted"), "\(dry.text)")
        }
        #expect(try await scene.sql("SELECT larder.batch_open('three')") == "1")
        #expect(try await scene.sql("SELECT count(*) FROM larder_data.batch") == "1")
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
            #expect(line["batch"] as? String == "spring", "\(words)")
            #expect(line["batchID"] as? Int == number, "\(words)")
            #expect(try await scene.larder(words).run().text.contains("spring (\(number))"), "\(words)")
        }
        #expect(try await scene.larder("report", "\(number)").code == 0)
    }
}
