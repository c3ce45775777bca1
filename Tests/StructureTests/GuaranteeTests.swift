import Foundation
import Testing

/// The guarantees in docs/job-lifecycle.md and the tests that the page names.
@Suite(.timeLimit(.minutes(1)))
struct GuaranteeTests {
    private let root = String(#filePath.split(separator: "/Tests/", maxSplits: 1)[0])

    @Test func `each of the 14 guarantees names tests, and every named test exists`() throws {
        let page = try String(contentsOfFile: root + "/docs/job-lifecycle.md", encoding: .utf8)
        let section = try #require(page.split(separator: "\n## Guarantees\n").last).replacing(/\s+/, with: " ")
        let starts = section.matches(of: /(?:^| )(\d+)\. \*\*/)
        #expect(starts.compactMap { Int($0.1) } == Array(1...14))
        for (index, start) in starts.enumerated() {
            let end = index + 1 < starts.count ? starts[index + 1].range.lowerBound : section.endIndex
            let guarantee = section[start.range.lowerBound..<end]
            let suites = guarantee.matches(of: /\[\w+Tests\]\(\.\.\/(Tests\/[\w\/]+\.swift)\)((?:,? `[^`]+`)*)/)
            #expect(!suites.isEmpty, "\(guarantee)")
            for suite in suites {
                let titles = suite.2.matches(of: /`([^`]+)`/).map { String($0.1) }
                #expect(!titles.isEmpty, "\(suite.1) is named without a test")
                let source = try String(contentsOfFile: "\(root)/\(suite.1)", encoding: .utf8)
                    .replacing(/\s+/, with: " ")
                for title in titles { #expect(source.contains("func `\(title)`"), "\(suite.1): \(title)") }
            }
        }
    }
}
