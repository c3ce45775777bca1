import Foundation
import TestSupport
import Testing

@testable import DiskCache

/// A cache on a network file system.
@Suite(
    .timeLimit(.minutes(5)), .enabled(if: NetworkDisk.isPossible, "needs to be root, /dev/fuse, sshfs and sftp-server"))
struct NetworkFileSystemTests {
    private let key = CacheKey("http://example.com/image.png")

    @Test func `stores, replaces, reads and removes without attributes and locks`() async throws {
        let disk = try await NetworkDisk()
        let first = try DirectoryStore(opening: disk.mounts[0] + "/cache", durability: .full)
        let second = try DirectoryStore(opening: disk.mounts[1] + "/cache", durability: .full)
        #expect(try first.cacheID == second.cacheID)
        try first.store("old", as: key, extendedData: [1, 2, 3])
        #expect(contents(try #require(try second.open(key))) == Array("old".utf8))
        let open = try #require(try first.open(key))
        #expect(try first.extendedData(for: key) == nil, "the file system has no attributes")
        try second.store("newer", as: key)
        // The server has the whole new file; the other client may still cache the old one.
        #expect(
            try Data(contentsOf: URL(filePath: disk.exported + "/cache/default/" + key.fileName)) == Data("newer".utf8))
        #expect(contents(open) == Array("old".utf8), "an open file remains readable")
        #expect(try first.remove(key))
        let exported = try FileManager.default.contentsOfDirectory(atPath: disk.exported + "/cache/default")
        #expect(exported.allSatisfy { $0.hasPrefix(".fuse_hidden") }, "\(exported)")
        try first.store("again", as: key)
        // The store sets the access time itself, with a resolution of one second here.
        let path = first.layout.path(of: key)
        #expect(
            utimensat(AT_FDCWD, path, [timespec(tv_sec: 1000, tv_nsec: 0), timespec(tv_sec: 1000, tv_nsec: 0)], 0) == 0)
        _ = try first.open(key)
        #expect(status(disk.exported + "/cache/default/" + key.fileName).st_atim.tv_sec > 1000)
        let report = try first.expire(
            ExpiryPolicy(maxAge: .zero, sparing: .zero),
            now: Timestamp(seconds: Timestamp.now.seconds + 5))
        #expect(report.expiredByAge.files == 1)
        #expect(report.firstFailure == nil)
        #expect(code { _ = try Reflink(first).run() } == nil, "no files are equal, so no call is made")
    }

    @Test func `has only whole images after concurrent imports`() async throws {
        let disk = try await NetworkDisk()
        let directory = try TemporaryDirectory()
        let source = try DirectoryStore(opening: directory.path + "/source", durability: .none)
        let export = BundleExport(source)
        var entries: [ManifestEntry] = []
        var dice = SplitMix64(seed: 7)
        for number in 0..<60 {
            let key = CacheKey("http://example.com/\(number).png")
            try source.store(String(repeating: "\(number) ", count: Int.random(in: 1...20_000, using: &dice)), as: key)
            entries.append(try #require(try export.entry(for: key)))
        }
        try export.write(entries, toDirectory: directory.path + "/bundle")
        let commands = try disk.mounts.flatMap { [$0, $0] }.map { mount in
            try LarderCommand(
                "cache", "import", directory.path + "/bundle", "--cache", mount + "/cache",
                environment: ["LARDER_HOME": "/none"]
            ).start()
        }
        for command in commands {
            let outcome = await command.outcome()
            #expect(outcome.code == 0, "\(outcome.errorText)")
        }
        let stored = try DirectoryStore(CacheLayout(root: disk.exported + "/cache"))
        for entry in entries { #expect(try stored.fault(of: entry) == nil, "\(entry.file)") }
        let usage = try CacheUsage(of: stored)
        #expect(usage.files == entries.count, "no temporary file is left")
        #expect(usage.entries == entries.count, "no temporary file is left")
    }
}
