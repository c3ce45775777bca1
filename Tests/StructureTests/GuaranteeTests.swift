import Foundation
import Testing

/// The guarantees of docs/guarantees.md and the tests that Tests/Guarantees.md names for each.
@Suite(.timeLimit(.minutes(1)))
struct GuaranteeTests {
    private let root = String(#filePath.split(separator: "/Tests/", maxSplits: 1)[0])

    @Test func `each of the 16 guarantees names tests, and every named test exists`() throws {
        let page = try String(contentsOfFile: root + "/docs/guarantees.md", encoding: .utf8)
        let section = try #require(page.split(separator: "\n## The guarantees\n").last?.split(separator: "\n## ").first)
        #expect(section.matches(of: /(?m)^(\d+)\. \*\*/).compactMap { Int($0.1) } == Array(1...16))

        let table = try String(contentsOfFile: root + "/Tests/Guarantees.md", encoding: .utf8)
        let rows = table.matches(of: /(?m)^\| (\d+) \|.*\| (.*) \|$/)
        #expect(rows.compactMap { Int($0.1) } == Array(1...16))
        for row in rows {
            let suites = row.2.matches(of: /\[\w+Tests\]\(([\w\/]+\.swift)\)((?:,? `[^`]+`)+)/)
            #expect(!suites.isEmpty, "\(row.1)")
            for suite in suites {
                let source = try String(contentsOfFile: "\(root)/Tests/\(suite.1)", encoding: .utf8)
                    .replacing(/\s+/, with: " ")
                for title in suite.2.matches(of: /`([^`]+)`/) {
                    #expect(source.contains("func `\(title.1)`"), "\(suite.1): \(title.1)")
                }
            }
        }
    }
}
