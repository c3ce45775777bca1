import Foundation
import TestSupport
import Testing

/// `larder path` says where the files of a URL are.
@Suite(.timeLimit(.minutes(5)))
struct PathCommandTests {
    @Test func `path prints each file of a URL, with its format, its place and when it was stored`() async throws {
        let scene = try await Scene()
        let url = try scene.serve("plain.jpg", at: "/a.jpg")
        let variant = "v=16x8:webp,key=w"
        #expect(try await scene.larder("run", url, "--variant", variant).code == 0)
        #expect(try await scene.larder("pipeline", "set", "p", "--variant", variant).code == 0)

        let shown = try await scene.larder("path", url, "--variant", variant)
        let rows = shown.lines.map { $0.split(separator: "\t").map(String.init) }
        #expect(rows.map { Array($0.prefix(3)) } == [[url, "original", "jpeg"], [url, "v", "webp"]])
        for row in rows {
            #expect(FileManager.default.fileExists(atPath: row[3]), "\(row)")
            #expect(row[4].hasSuffix("Z"), "\(row)")
        }

        let lines = try await scene.larder("path", url, scene.origin.url("/b.jpg"), "--pipeline", "p", "--json").lines
        let found = try lines.map { try fields($0) }
        #expect(found.map { $0["exists"] as? Bool } == [true, true, false, false])
        #expect(found.map { $0["absolutePath"] as? String }.prefix(2) == rows.map { $0[3] }[...])
        #expect(found.map { $0["storedAt"] is String } == [true, true, false, false])
        #expect(found.map { $0["format"] as? String } == ["jpeg", "webp", nil, "webp"])
        let missing = try await scene.larder("path", scene.origin.url("/b.jpg"))
        #expect(missing.code == 0)
        #expect(missing.text.hasSuffix("\tmissing\n"), "\(missing.text)")
    }
}
