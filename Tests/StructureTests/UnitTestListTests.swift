import Foundation
import Testing

/// The list of unit tests that scripts/unit-tests derives.
@Suite(.timeLimit(.minutes(1)))
struct UnitTestListTests {
    private let root = String(#filePath.split(separator: "/Tests/", maxSplits: 1)[0])

    private func output(_ arguments: String...) throws -> String {
        let process = Process(), pipe = Pipe()
        process.executableURL = URL(filePath: root + "/scripts/unit-tests")
        process.arguments = arguments
        process.standardOutput = pipe
        try process.run()
        let text = String(decoding: try pipe.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        process.waitUntilExit()
        try #require(process.terminationStatus == 0)
        return text
    }

    /// The tests by file: `Target/File.swift` with the lines at which they begin.
    private func tests() throws -> [String: Set<Int>] {
        try output("--list").split(separator: "\n").reduce(into: [:]) { files, test in
            let parts = test.split(separator: ":")
            try files[String(parts[0]), default: []].insert(#require(Int(parts[1])))
        }
    }

    /// The name of a file's test that contains `text`, and whether it is in the list.
    private func isListed(_ file: String, _ text: String, _ tests: [String: Set<Int>]) throws -> Bool {
        let lines = try String(contentsOfFile: "\(root)/Tests/\(file)", encoding: .utf8)
            .split(separator: "\n", omittingEmptySubsequences: false)
        let name = try #require(lines.firstIndex { $0.contains(text) }, "\(file): \(text)")
        let first = try #require(lines[...name].lastIndex { $0.contains("@Test") }, "\(file): \(text)")
        return tests[file, default: []].contains(first + 1)
    }

    @Test func `at least 1,000 tests are in the list`() throws {
        #expect(try tests().values.reduce(0) { $0 + $1.count } >= 1_000)
    }

    @Test func `tests that start nothing are in the list and tests that start something are not`() throws {
        let tests = try tests()
        for (file, name) in [
            ("ConcurrencyTests/AsyncEventTests.swift", "a cancelled wait ends without a signal"),
            ("WorkerTests/WorkerStateTests.swift", "func `"), ("DiskCacheTests/DirectoryStoreTests.swift", "func `"),
            // While other tests start something.
            ("LarderTests/EndpointTests.swift", "addresses are read, and a lone port is loopback"),
            ("JobQueueTests/MigratorTests.swift", "the list in the program is the directory"),
            (
                "LarderTests/WorkerHealthTests.swift",
                "a worker that has not reached the database is alive and not ready"
            ),
        ] { #expect(try isListed(file, name, tests), "\(file): \(name)") }
        for (file, name) in [
            // By a property of the suite, a helper of the suite, of the target and of TestSupport, and by itself.
            ("LarderTests/ServingTests.swift", "a service can hand over a file with X-Accel-Redirect"),
            ("LarderTests/OutputTests.swift", "a dash is standard output"),
            ("JobQueueTests/ClaimTests.swift", "func `"),
            ("DownloaderTests/Fetch/CredentialTests.swift", "with a client certificate use a connection"),
            ("ConcurrencyTests/ThreadTests.swift", "a child's exit code is distinguished from a signal"),
        ] { #expect(try !isListed(file, name, tests), "\(file): \(name)") }
    }

    @Test func `the filter matches each listed test and no other`() throws {
        let filter = try NSRegularExpression(pattern: output().trimmingCharacters(in: .newlines))
        let tests = try tests()
        let all = FileManager.default.enumerator(atPath: root + "/Tests")?.compactMap { $0 as? String } ?? []
        for file in all where file.hasSuffix("Tests.swift") {
            let target = file.prefix { $0 != "/" }
            let name = file.split(separator: "/").last ?? ""
            let lines = try String(contentsOfFile: "\(root)/Tests/\(file)", encoding: .utf8)
                .split(separator: "\n", omittingEmptySubsequences: false)
            for (number, line) in lines.enumerated() where line.hasPrefix("    @Test") {
                let test = "\(target).`A suite`/`a test`()/\(name):\(number + 1):6"
                let isSelected = filter.firstMatch(in: test, range: NSRange(test.startIndex..., in: test)) != nil
                #expect(isSelected == tests[file, default: []].contains(number + 1), "\(file):\(number + 1)")
            }
        }
    }
}
