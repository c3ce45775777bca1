import Foundation
import Synchronization
import Testing

@testable import DiskCache

@Suite(.timeLimit(.minutes(5)))
struct `The disk cache` {
    private let directory: TemporaryDirectory
    private let cache: DiskCache
    private let key = CacheKey("http://example.com/image.png")
    private let name = "dff8cd3202a7f9a9529a"

    init() throws {
        directory = try TemporaryDirectory()
        cache = try DiskCache(opening: directory.path + "/root")
    }

    @Test(arguments: try KeyVectors.read().directories)
    func `lies where SDWebImage's does`(row: KeyVectors.Directory) throws {
        #expect(try CacheLayout(root: row.root, namespace: row.namespace).directory == row.expected)
    }

    @Test(arguments: Durability.allCases)
    func `stores a picture under its key's name and nothing else`(durability: Durability) throws {
        let cache = try DiskCache(opening: directory.path + "/root", durability: durability)
        try cache.store("picture", as: key)
        let file = try #require(try cache.read(key))
        #expect(file.size == 7)
        #expect(contents(file) == Array("picture".utf8))
        #expect(try directory.names(in: "root") == [".larder-cache-id", "default"])
        #expect(try directory.names(in: "root/default") == [key.fileName])
        #expect(cache.layout.relativePath(of: key) == "default/" + key.fileName)
        #expect(file.path == cache.layout.path(of: key))
    }

    @Test func `keeps nothing of a file that was not published`() throws {
        let file = try cache.makeTemporaryFile()
        try write("half a pic", to: file)
        #expect(try directory.names(in: "root/default").count == 1)
        #expect(try directory.names(in: "root/default").allSatisfy { $0.hasPrefix(".") })
        _ = consume file
        #expect(try directory.names(in: "root/default").isEmpty)
        #expect(try !cache.contains(key))
        #expect(try cache.read(key) == nil)
    }

    @Test func `replaces a picture in one step`() async throws {
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
                    let bytes = contents(try #require(try cache.read(key)))
                    #expect(bytes.count == length && bytes.allSatisfy { $0 == bytes[0] })
                }
            }
            try await group.waitForAll()
        }
        #expect(try directory.names(in: "root/default") == [key.fileName])
    }

    @Test func `lets go on reading what was replaced or removed`() throws {
        try cache.store("first", as: key)
        let file = try #require(try cache.read(key))
        try cache.store("second", as: key)
        try cache.remove(key)
        #expect(contents(file) == Array("first".utf8))
    }

    @Test func `publishes a file only once, and a failure leaves the old picture`() throws {
        let other = CacheKey("other")
        try cache.store("old", as: other)
        let file = try cache.makeTemporaryFile()
        try cache.publish(file, as: key)
        #expect(code { try cache.publish(file, as: other) } == .missing)
        #expect(try cache.contains(key))
        #expect(contents(try #require(try cache.read(other))) == Array("old".utf8))
    }

    @Test func `marks a picture as used when it is read, not as changed`() throws {
        try cache.store("picture", as: key)
        let path = cache.layout.path(of: key)
        let old = timespec(tv_sec: 1_000_000_000, tv_nsec: 0)
        #expect(utimensat(AT_FDCWD, path, [old, old], 0) == 0)
        let start = Date().timeIntervalSince1970

        #expect(try cache.contains(key))
        #expect(status(path).st_atim.tv_sec == 1_000_000_000, "to look is not to use")
        _ = try cache.read(key)
        #expect(Double(status(path).st_atim.tv_sec) >= start - 2)
        #expect(status(path).st_mtim.tv_sec == 1_000_000_000)
    }

    @Test func `finds and removes what older versions stored without an extension`() throws {
        let legacy = cache.layout.directory + "/" + key.fileName.prefix(32)
        let old = timespec(tv_sec: 1_000_000_000, tv_nsec: 0)
        try Data("old".utf8).write(to: URL(filePath: legacy))
        #expect(utimensat(AT_FDCWD, legacy, [old, old], 0) == 0)
        #expect(try cache.contains(key))
        #expect(try cache.read(key)?.path == legacy)
        #expect(status(legacy).st_atim.tv_sec > 1_000_000_000)

        try cache.store("new", as: key)
        #expect(try cache.read(key)?.path == cache.layout.path(of: key))
        #expect(try cache.remove(key))
        #expect(try directory.names(in: "root/default").isEmpty)
        #expect(try !cache.remove(key))
    }

    @Test(.enabled(if: Attributes.areKept, "this file system keeps no user attributes"))
    func `reads extended data under the key's own name only`() throws {
        let attribute = "user.com.hackemist.SDDiskCache"
        let legacy = cache.layout.directory + "/" + key.fileName.prefix(32)
        try Data("old".utf8).write(to: URL(filePath: legacy))
        #expect(Attributes.set(attribute, [1, 2], of: legacy))
        let found = try #require(try cache.read(key))
        #expect(found.path == legacy)
        #expect(try found.extendedData() == nil)
        let other = CacheKey("no extension")
        try cache.store("new", as: other, extendedData: [3])
        #expect(try cache.read(other)?.extendedData() == [3], "here both names are one")
        let app = try DiskCache(opening: directory.path + "/app", alsoReading: [cache.layout])
        #expect(try #require(try app.read(other)).extendedData() == nil)
    }

    @Test(.enabled(if: Attributes.areKept, "this file system keeps no user attributes"))
    func `tells extended data that is too large from a full disk`() throws {
        try cache.store("old", as: key)
        // As much as attributes can be at all, but for a few bytes; ext4 keeps 4 kB.
        let failure = code { try cache.store("new", as: key, extendedData: Array(repeating: 1, count: 60_000)) }
        #expect(failure == nil || failure == .tooLarge)
        #expect(contents(try #require(try cache.read(key))) == Array((failure == nil ? "new" : "old").utf8))
    }

    @Test func `says that it is at work when it only reads, too`() throws {
        let presence = cache.presence
        presence.refreshed.withLock { $0 -= 3700 }
        let old = timespec(tv_sec: 1_000_000_000, tv_nsec: 0)
        #expect(utimensat(AT_FDCWD, presence.path, [old, old], 0) == 0)
        _ = try cache.read(key)
        #expect(status(presence.path).st_mtim.tv_sec > 1_000_000_000)
    }

    @Test func `makes a deleted directory again`() throws {
        let orphan = try cache.makeTemporaryFile()
        try FileManager.default.removeItem(atPath: directory.path + "/root")
        #expect(try !cache.contains(key))
        #expect(try cache.read(key) == nil)
        #expect(code { try cache.publish(orphan, as: key) } == .missing, "its bytes went with the directory")
        try cache.store("picture", as: key)
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
    func `stores any key in its directory`(text: String) throws {
        let key = CacheKey(text)
        try cache.store("picture", as: key)
        #expect(try cache.contains(key))
        #expect(try directory.names(in: "root/default") == [key.fileName])
        #expect(try directory.names() == ["root"])
        #expect(try directory.names(in: "root") == [".larder-cache-id", "default"])
    }

    @Test(.enabled(if: Attributes.areKept, "this file system keeps no user attributes"))
    func `keeps extended data where SDWebImage's would lie`() throws {
        try cache.store("picture", as: key, extendedData: [1, 2, 0, 255])
        #expect(try cache.read(key)?.extendedData() == [1, 2, 0, 255])
        #expect(Attributes.read("user.com.hackemist.SDDiskCache", of: cache.layout.path(of: key)) == [1, 2, 0, 255])
        try cache.store("picture", as: key)
        #expect(try cache.read(key)?.extendedData() == nil, "a new file has none of the old one's")
        #expect(code { try cache.store("x", as: key, extendedData: Array(repeating: 1, count: 70_000)) } == .tooLarge)
        #expect(try directory.names(in: "root/default") == [key.fileName])
    }

    @Test func `gives files and directories the usual permissions`() throws {
        try cache.store("picture", as: key)
        // Not by setting it, which would be for all tests.
        let lines = try String(contentsOfFile: "/proc/self/status", encoding: .utf8).split(separator: "\n")
        let line = try #require(lines.first { $0.hasPrefix("Umask:") })
        let mask = try #require(mode_t(line.dropFirst(6).trimmingPrefix { $0.isWhitespace }, radix: 8))
        #expect(status(cache.layout.path(of: key)).st_mode & 0o7777 == 0o644 & ~mask)
        #expect(status(cache.layout.directory).st_mode & 0o7777 == 0o755 & ~mask)
    }

    @Test func `takes no pipe or directory for a picture`() throws {
        let path = cache.layout.path(of: key)
        #expect(mkfifo(path, 0o600) == 0)
        #expect(try cache.read(key) == nil)
        #expect(try !cache.contains(key))
        unlink(path)
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        #expect(try cache.read(key) == nil)
        #expect(try !cache.contains(key))
        #expect(code { try cache.store("picture", as: key) } == .isADirectory)
    }
}
