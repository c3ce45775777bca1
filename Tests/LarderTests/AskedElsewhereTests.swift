import Foundation
import TestSupport
import Testing

/// The commands in the table of docs/asked-elsewhere.md.
@Suite(.timeLimit(.minutes(5)))
struct AskedElsewhereTests {
    @Test func `every command of the table runs, in its order`() async throws {
        let scene = try await Scene()
        try scene.directory.write("https://example.com/a.jpg\nhttps://example.com/b.jpg\n".utf8, to: "urls.txt")
        let rows = try Document("docs/asked-elsewhere.md").text.split(separator: "\n").filter { $0.hasPrefix("| ") }
        let commands = rows.flatMap { $0.matches(of: /`(larder [^`]+)`/).map { String($0.1) } }
        #expect(commands.count >= 10)
        for command in commands {
            let outcome = try await scene.shell(command)
            #expect(outcome.code == 0, "\(command): \(outcome.errorText)")
        }
    }
}
