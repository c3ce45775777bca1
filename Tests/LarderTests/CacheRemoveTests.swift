import Foundation
import TestSupport
import Testing

/// `larder cache remove`.
@Suite(.timeLimit(.minutes(5)))
struct CacheRemoveTests {
    private let scene: Scene

    init() async throws { scene = try await Scene() }

    private func remove(_ arguments: String..., database: Bool = true) async throws -> CommandOutcome {
        var command = scene.larder(["cache", "remove"] + arguments)
        if !database { command.environment["LARDER_DATABASE_URL"] = nil }
        return try await command.run()
    }

    private func run(_ arguments: String...) async throws {
        let outcome = try await scene.larder(["run", "--json"] + arguments).run()
        #expect(outcome.code == 0, "\(outcome.errorText)")
    }

    @Test func `the original and the variants of all pipelines of a URL are deleted, and no other file`() async throws {
        let (one, two) = try (scene.serve("plain.jpg", at: "/a.jpg"), scene.serve("rgb.png", at: "/b.png"))
        try await run(two, "--variant", "small=20x20")
        let kept = scene.stored
        try await run(one, "--variant", "small=20x20", "--variant", "square=8x8:webp,crop")
        try await run(one, "--variant", "other=30x30")
        let all = scene.stored
        #expect(all.count == 6)

        let refused = try await remove(one)
        #expect(refused.code == 2)
        #expect(refused.errorText.contains("would delete the images of 1 URL in \(scene.cache)/default; --yes"))
        let dry = try await remove(one, "--dry-run")
        #expect(dry.text.hasPrefix("4 files would be deleted, "), "\(dry.text)\(dry.errorText)")
        #expect(scene.stored == all)

        let gone = all.filter { !kept.contains($0) }
        let bytes = try gone.reduce(0) { try $0 + scene.bytes("default/\($1)").count }
        let removed = try await remove(one, one, "--yes", "--json")
        #expect(removed.code == 0, "\(removed.errorText)")
        let line = try fields(try #require(removed.lines.last))
        #expect(line["deleted"] as? Int == 4)
        #expect(line["deletedBytes"] as? Int == bytes)
        #expect(scene.stored == kept)
        #expect(try await remove(one, "--yes").text == "0 files deleted, 0 B\n")
    }

    @Test func `a batch is deleted by its records`() async throws {
        let (one, two) = try (scene.serve("plain.jpg", at: "/a.jpg?token=1"), scene.serve("rgb.png", at: "/b.png"))
        try await run(two)
        let kept = scene.stored
        let rule = #"{"dropQuery":["token"]}"#
        for batch in ["first", "again"] {
            try await run(one, "--batch", batch, "--variant", "small=20x20", "--cache-key", rule)
        }
        let dry = try await remove("--batch", "again", "--dry-run")
        #expect(dry.text.hasPrefix("2 files would be deleted, "), "\(dry.text)\(dry.errorText)")
        #expect(try await remove(one, "--dry-run").text == dry.text, "the pipeline has the rule of the key")
        let removed = try await remove("--batch", "again", "--yes")
        #expect(removed.code == 0, "\(removed.errorText)")
        #expect(scene.stored == kept)
        #expect(try await remove("--batch", "first", "--yes").text == "0 files deleted, 0 B\n")
        #expect(try await remove("--batch", "none", "--yes").code == 1)
    }

    @Test func `without a database the variants are named`() async throws {
        let url = try scene.serve("plain.jpg", at: "/a.jpg")
        try await run(url, "--variant", "small=20x20", "--variant", "other=30x30")
        let refused = try await remove(url, "--yes", database: false)
        #expect(refused.code == 1)
        #expect(refused.errorText.contains("; --variant names the variants without a database"))
        #expect(scene.stored.count == 3)
        let removed = try await remove(url, "--variant", "s=20x20", "--yes", database: false)
        #expect(removed.text.hasPrefix("2 files deleted, "), "\(removed.text)\(removed.errorText)")
        #expect(scene.stored.count == 1)
    }

    @Test(arguments: [
        [], ["http://a.example/", "--batch", "b"], ["--batch", "b", "--variant", "a=1x1"],
    ])
    func `URLs and a batch exclude each other`(words: [String]) async throws {
        let outcome = try await scene.larder(["cache", "remove", "--yes"] + words).run()
        #expect(outcome.code == 2, "\(outcome.errorText)")
    }
}
