import Foundation
import Testing

/// The rows of docs/stumbles.md and the tests that they name.
@Suite(.timeLimit(.minutes(1)))
struct StumbleTests {
    private let root = String(#filePath.split(separator: "/Tests/", maxSplits: 1)[0])

    @Test func `each of the 26 stumbles names tests, and every named test exists`() throws {
        let page = try String(contentsOfFile: root + "/docs/stumbles.md", encoding: .utf8)
        let rows = page.matches(of: /(?m)^\| (\d+) \|.*\| (.*) \|$/)
        #expect(rows.compactMap { Int($0.1) } == Array(1...26))
        for row in rows {
            let suites = row.2.matches(of: /\[\w+Tests\]\(\.\.\/(Tests\/[\w\/]+\.swift)\)((?:,? `[^`]+`)+)/)
            #expect(!suites.isEmpty, "\(row.1)")
            for suite in suites {
                let source = try String(contentsOfFile: "\(root)/\(suite.1)", encoding: .utf8)
                for title in suite.2.matches(of: /`([^`]+)`/) {
                    #expect(source.contains("func `\(title.1)`"), "\(row.1): \(title.1)")
                }
            }
        }
    }
}
