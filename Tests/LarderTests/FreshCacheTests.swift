import Foundation
import TestSupport
import Testing

/// `enqueue --fresh-for --cache` never creates a cache.
@Suite(.timeLimit(.minutes(5)))
struct FreshCacheTests {
    @Test func `nothing is fresh in a missing cache and the cache is not created`() async throws {
        let scene = try await Scene()
        let url = try scene.serve("plain.jpg", at: "/a.jpg")
        #expect(try await scene.larder("run", url).code == 0)
        func answer(_ cache: String) async throws -> (kind: String?, printed: String) {
            let outcome = try await scene.larder("enqueue", "--json", "--fresh-for", "1h", "--cache", cache, url)
            return (try fields(try #require(outcome.lines.first))["answer"] as? String, outcome.errorText)
        }
        let there = try await answer(scene.cache)
        #expect(there.kind == "fresh")
        #expect(there.printed == "")
        let nowhere = scene.directory.file("nowhere")
        let missing = try await answer(nowhere)
        #expect(missing.kind == "inserted")
        #expect(missing.printed.contains(nowhere))
        #expect(!FileManager.default.fileExists(atPath: nowhere))
    }
}
