import Foundation
import Testing

/// The list of allowed system calls, in the source and in docs/architecture.md.
@Suite(.timeLimit(.minutes(1)))
struct SystemCallListTests {
    @Test func `the documented system calls equal the filter's`() throws {
        let root = try PackageManifest().root
        let source = try String(contentsOfFile: root + "/Sources/CLinux/SystemCallFilter.c", encoding: .utf8)
        let filtered = Set(source.matches(of: /__NR_(\w+)/).map { String($0.1) }).subtracting(["seccomp"])
        let page = try String(contentsOfFile: root + "/docs/architecture.md", encoding: .utf8)
        let table = try #require(page.split(separator: "| Use | Allowed system calls |").last)
        let rows = String(table).components(separatedBy: "\n\n")[0]
        // Constants such as `F_GETFD` are in capitals.
        let documented = Set(rows.matches(of: /`([a-z]\w+)`/).map { String($0.1) })
        #expect(documented.count > 40)
        #expect(documented.symmetricDifference(filtered).isEmpty, "\(documented.symmetricDifference(filtered))")
    }
}
