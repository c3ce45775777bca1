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

    private func files() throws -> [String] { try output("--list").split(separator: "\n").map(String.init) }

    @Test func `files that start nothing are in the list and files that start something are not`() throws {
        let files = Set(try files())
        let inside = [
            "ConcurrencyTests/AsyncEventTests.swift", "WorkerTests/WorkerStateTests.swift",
            "DownloaderTests/Origins/OriginStateTests.swift", "DiskCacheTests/DirectoryStoreTests.swift",
        ]
        // Through a helper of TestSupport, a helper of the target, and by themselves.
        let outside = [
            "DownloaderTests/Fetch/CredentialTests.swift", "JobQueueTests/ClaimTests.swift",
            "ConcurrencyTests/ThreadTests.swift", "WorkerTests/WorkerTests.swift",
        ]
        #expect(files.isSuperset(of: inside))
        #expect(files.isDisjoint(with: outside))
        #expect(files.count > 50)
    }

    @Test func `no listed file uses a helper that starts a program or a server process`() throws {
        let words = [
            "LarderCommand", "RunningCommand", "SystemTool", "TemporaryDatabase", "ClusterHome", "Pooler",
            "NginxServer", "HttpbinServer", "BrokenHTTP2Server", "FaultyCodec", "ImageDisk", "NetworkDisk",
            "TranscodeHarness", "ManagerHarness", "QueueFixture", "Scene", "posix_spawn", "fork",
        ]
        for file in try files() {
            let text = try String(contentsOfFile: "\(root)/Tests/\(file)", encoding: .utf8)
            let pattern = "\\b(\(words.joined(separator: "|")))\\("
            let found = text.range(of: pattern, options: .regularExpression).map { text[$0] }
            #expect(found == nil, "\(file)")
        }
    }

    @Test func `the filter matches each listed file and no other`() throws {
        let filter = try output().trimmingCharacters(in: .newlines)
        let files = Set(try files())
        let all = FileManager.default.enumerator(atPath: root + "/Tests")?.compactMap { $0 as? String } ?? []
        for file in all where file.hasSuffix("Tests.swift") {
            let target = file.prefix { $0 != "/" }
            let name = file.split(separator: "/").last ?? ""
            let test = "\(target).`A suite`/`a test`()/\(name):10:4"
            let isSelected = test.range(of: filter, options: .regularExpression) != nil
            #expect(isSelected == files.contains(file), "\(file)")
        }
    }
}
