import DiskCache
import Foundation
import ImageModel
import TestSupport
import Testing

@testable import Prefetcher

@Suite(.timeLimit(.minutes(2)))
struct FileSourceTests {
    private let harness: ManagerHarness
    private let root: String
    private let manager: ImageManager

    init() throws {
        harness = try ManagerHarness()
        root = harness.directory.path + "/files"
        try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
        try Data(harness.image).write(to: URL(filePath: root + "/a b.jpg"))
        manager = try harness.manager { [root] in $0.sources.append(FileSource(roots: [root], limit: 1 << 20)) }
    }

    private func code(_ url: String) async -> Int? { await failure(of: LoadRequest(url: url), by: manager)?.code }

    @Test func `a file below the directory is stored under its URL's key`() async throws {
        let url = "file://\(root)/a%20b.jpg"
        let report = try await manager.load(LoadRequest(url: url))
        #expect(report.downloads == 1)
        #expect(harness.stored(url) == harness.image)
        #expect(report.stored.first?.sha256?.count == 64)
    }

    @Test func `a file outside the directory is refused, whatever the path`() async throws {
        try FileManager.default.createSymbolicLink(atPath: root + "/link", withDestinationPath: "/etc")
        #expect(await code("file:///etc/passwd") == -1102)
        #expect(await code("file://\(root)/../../../../../etc/passwd") == -1102)
        #expect(await code("file://\(root)/link/passwd") == -1102)
        #expect(await code("file://\(root)/%2e%2e/%2e%2e/%2e%2e/%2e%2e/etc/passwd") != nil)
        #expect(await code("file://elsewhere\(root)/a%20b.jpg") == -1000)
    }

    @Test
    func `a missing file, a directory, a file that is not an image and a large file have their own errors`()
        async throws
    {
        try Data("text".utf8).write(to: URL(filePath: root + "/t.txt"))
        try Data(count: 2 << 20).write(to: URL(filePath: root + "/big"))
        try FileManager.default.createDirectory(atPath: root + "/sub", withIntermediateDirectories: true)
        #expect(await code("file://\(root)/no.jpg") == -1100)
        #expect(await code("file://\(root)/sub") == -1101)
        #expect(await code("file://\(root)/t.txt") == 1001)
        #expect(await code("file://\(root)/big") == 201)
    }
}
