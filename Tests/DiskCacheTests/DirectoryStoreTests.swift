import Concurrency
import Foundation
import Testing

@testable import DiskCache

@Suite(.timeLimit(.minutes(5)))
struct DirectoryStoreTests {
    private let directory: TemporaryDirectory
    private let cache: DirectoryStore
    private let key = CacheKey("http://example.com/image.png")
    private let name = "dff8cd3202a7f9a9529a"

    init() throws {
        directory = try TemporaryDirectory()
        cache = try DirectoryStore(opening: directory.path + "/root")
    }

    @Test(arguments: try KeyVectors.read().directories)
    func `has the directory of SDWebImage`(row: KeyVectors.Directory) throws {
        #expect(try CacheLayout(root: row.root, namespace: row.namespace).directory == row.expected)
    }

    @Test(arguments: Durability.allCases)
    func `stores an image under the file name of its key and nothing else`(durability: Durability) throws {
        let cache = try DirectoryStore(opening: directory.path + "/root", durability: durability)
        try cache.store("image", as: key)
        let file = try #require(try cache.open(key))
        #expect(file.size == 5)
        #expect(contents(file) == Array("image".utf8))
        #expect(try directory.names(in: "root") == [".larder-cache-id", "default"])
        #expect(try directory.names(in: "root/default") == [key.fileName])
        #expect(cache.relativePath(of: key) == "default/" + key.fileName)
        #expect(file.path == cache.layout.path(of: key))
    }

    @Test func `deletes a file that is not committed`() throws {
        let file = try cache.begin()
        try write("half a pic", to: file)
        #expect(try directory.names(in: "root/default").count == 1)
        #expect(try directory.names(in: "root/default").allSatisfy { $0.hasPrefix(".") })
        _ = consume file
        #expect(try directory.names(in: "root/default").isEmpty)
        #expect(try !cache.contains(key))
        #expect(try cache.open(key) == nil)
    }

    @Test func `replaces an image in one step`() async throws {
        let cache = cache
        let key = key
        let length = 100_000
        try cache.store(String(repeating: "a", count: length), as: key)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for round in 0..<200 {
                    try cache.store(String(repeating: round.isMultiple(of: 2) ? "b" : "a", count: length), as: key)
                }
            }
            group.addTask {
                for _ in 0..<200 {
                    let bytes = contents(try #require(try cache.open(key)))
                    try #require(bytes.count == length)
                    #expect(bytes.allSatisfy { $0 == bytes[0] })
                }
            }
            try await group.waitForAll()
        }
        #expect(try directory.names(in: "root/default") == [key.fileName])
    }

    @Test func `keeps a replaced or removed file readable`() throws {
        try cache.store("first", as: key)
        let file = try #require(try cache.open(key))
        try cache.store("second", as: key)
        try cache.remove(key)
        #expect(contents(file) == Array("first".utf8))
    }

    @Test func `commits a file only once and keeps the old image on failure`() throws {
        let other = CacheKey("other")
        try cache.store("old", as: other)
        let file = try cache.begin()
        try cache.commit(file, as: key)
        #expect(code { try cache.commit(file, as: other) } == .missing)
        #expect(try cache.contains(key))
        #expect(contents(try #require(try cache.open(other))) == Array("old".utf8))
    }

    @Test func `sets the access time but not the modification time of an opened image`() throws {
        try cache.store("image", as: key)
        let path = cache.layout.path(of: key)
        let old = timespec(tv_sec: 1_000_000_000, tv_nsec: 0)
        #expect(utimensat(AT_FDCWD, path, [old, old], 0) == 0)
        let start = Date().timeIntervalSince1970

        #expect(try cache.contains(key))
        #expect(status(path).st_atim.tv_sec == 1_000_000_000, "contains does not change the access time")
        _ = try cache.open(key)
        #expect(Double(status(path).st_atim.tv_sec) >= start - 2)
        #expect(status(path).st_mtim.tv_sec == 1_000_000_000)
    }

    @Test func `finds and removes files that older versions stored without an extension`() throws {
        let legacy = cache.layout.directory + "/" + key.fileName.prefix(32)
        let old = timespec(tv_sec: 1_000_000_000, tv_nsec: 0)
        try Data("old".utf8).write(to: URL(filePath: legacy))
        #expect(utimensat(AT_FDCWD, legacy, [old, old], 0) == 0)
        #expect(try cache.contains(key))
        #expect(try cache.open(key)?.path == legacy)
        #expect(status(legacy).st_atim.tv_sec > 1_000_000_000)

        try cache.store("new", as: key)
        #expect(try cache.open(key)?.path == cache.layout.path(of: key))
        #expect(try cache.remove(key))
        #expect(try directory.names(in: "root/default").isEmpty)
        #expect(try !cache.remove(key))
    }

    @Test(.enabled(if: Attributes.areKept, "this file system keeps no user attributes"))
    func `reads extended data only under the key's own file name`() throws {
        let attribute = "user.com.hackemist.SDDiskCache"
        let legacy = cache.layout.directory + "/" + key.fileName.prefix(32)
        try Data("old".utf8).write(to: URL(filePath: legacy))
        #expect(Attributes.set(attribute, [1, 2], of: legacy))
        let found = try #require(try cache.open(key))
        #expect(found.path == legacy)
        #expect(try cache.extendedData(for: key) == nil)
        let other = CacheKey("no extension")
        try cache.store("new", as: other, extendedData: [3])
        #expect(try cache.extendedData(for: other) == [3], "a key without extension has one name")
        let app = try DirectoryStore(opening: directory.path + "/app", fallbacks: [cache])
        #expect(try app.open(other) != nil)
        #expect(try app.extendedData(for: other) == nil)
    }

    @Test(.enabled(if: Attributes.areKept, "this file system keeps no user attributes"))
    func `distinguishes extended data that is too large from a full disk`() throws {
        try cache.store("old", as: key)
        // Near the limit of Linux, 64 kB; ext4 stores 4 kB.
        let failure = code { try cache.store("new", as: key, extendedData: Array(repeating: 1, count: 60_000)) }
        #expect(failure == nil || failure == .tooLarge)
        #expect(contents(try #require(try cache.open(key))) == Array((failure == nil ? "new" : "old").utf8))
    }

    @Test func `refreshes its open marker when it is only read`() throws {
        let marker = try #require(cache.openMarker)
        marker.refreshed.withLock { $0 -= 3700 }
        let old = timespec(tv_sec: 1_000_000_000, tv_nsec: 0)
        #expect(utimensat(AT_FDCWD, marker.path, [old, old], 0) == 0)
        _ = try cache.open(key)
        #expect(status(marker.path).st_mtim.tv_sec > 1_000_000_000)
    }

    @Test func `recreates a deleted directory`() throws {
        let orphan = try cache.begin()
        try FileManager.default.removeItem(atPath: directory.path + "/root")
        #expect(try !cache.contains(key))
        #expect(try cache.open(key) == nil)
        #expect(
            code { try cache.commit(orphan, as: key) } == .missing, "the temporary file was deleted with the directory")
        try cache.store("image", as: key)
        #expect(try cache.contains(key))
    }

    @Test(arguments: [
        "http://foo/../../../etc/passwd", "../up.png", "http://foo/a.b%2F..%2F..%2Fc.png", "/etc/passwd",
        "a/../b.c/../d", "http://foo/a.%00",
        "http://foo/" + String(repeating: "x", count: 5000) + ".png",
        "http://foo/a." + String(repeating: "é", count: 111),
        "http://foo/a." + String(repeating: "图", count: 100), "", ".", "..", "a.\n", "a.\u{202e}gnp",
        "x.*?'\"$(touch y)`",
    ])
    func `stores any key inside its directory`(text: String) throws {
        let key = CacheKey(text)
        try cache.store("image", as: key)
        #expect(try cache.contains(key))
        #expect(try directory.names(in: "root/default") == [key.fileName])
        #expect(try directory.names() == ["root"])
        #expect(try directory.names(in: "root") == [".larder-cache-id", "default"])
    }

    @Test(.enabled(if: Attributes.areKept, "this file system keeps no user attributes"))
    func `stores extended data in SDWebImage's attribute`() throws {
        try cache.store("image", as: key, extendedData: [1, 2, 0, 255])
        #expect(try cache.extendedData(for: key) == [1, 2, 0, 255])
        #expect(Attributes.read("user.com.hackemist.SDDiskCache", of: cache.layout.path(of: key)) == [1, 2, 0, 255])
        try cache.store("image", as: key)
        #expect(try cache.extendedData(for: key) == nil, "a new file does not inherit extended data")
        #expect(code { try cache.store("x", as: key, extendedData: Array(repeating: 1, count: 70_000)) } == .tooLarge)
        #expect(try directory.names(in: "root/default") == [key.fileName])
    }

    @Test func `creates files and directories with the default permissions`() throws {
        try cache.store("image", as: key)
        // Read from /proc, as setting it would affect all tests.
        let lines = try String(contentsOfFile: "/proc/self/status", encoding: .utf8).split(separator: "\n")
        let line = try #require(lines.first { $0.hasPrefix("Umask:") })
        let mask = try #require(mode_t(line.dropFirst(6).trimmingPrefix { $0.isWhitespace }, radix: 8))
        #expect(status(cache.layout.path(of: key)).st_mode & 0o7777 == 0o644 & ~mask)
        #expect(status(cache.layout.directory).st_mode & 0o7777 == 0o755 & ~mask)
    }

    @Test func `ignores pipes and directories`() throws {
        let path = cache.layout.path(of: key)
        #expect(mkfifo(path, 0o600) == 0)
        #expect(try cache.open(key) == nil)
        #expect(try !cache.contains(key))
        unlink(path)
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        #expect(try cache.open(key) == nil)
        #expect(try !cache.contains(key))
        #expect(code { try cache.store("image", as: key) } == .isADirectory)
    }
}
