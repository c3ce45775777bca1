import DiskCache
import Foundation
import Testing

@Suite(.timeLimit(.minutes(2)))
struct `Opening a disk cache` {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    @Test func `makes what is missing and keeps its id`() throws {
        let first = try DiskCache(opening: directory.path + "/a/b//c/", durability: .full)
        #expect(UUID(uuidString: first.cacheID) != nil)
        #expect(try DiskCache(opening: directory.path + "/a/b/c").cacheID == first.cacheID)
        #expect(try DiskCache(opening: directory.path + "/a/b/c", namespace: "other").cacheID == first.cacheID)
        #expect(try DiskCache(opening: directory.path + "/a").cacheID != first.cacheID)
        #expect(try directory.names(in: "a/b/c") == [".larder-cache-id", "default", "other"])
    }

    @Test func `gives one id to all who open it at once`() async throws {
        let path = directory.path
        for round in 0..<20 {
            let ids = try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<8 { group.addTask { try DiskCache(opening: path + "/\(round)").cacheID } }
                return try await group.reduce(into: Set<String>()) { $0.insert($1) }
            }
            #expect(ids.count == 1)
        }
    }

    @Test(arguments: ["", "no id\n", "0123456789abcdef0123456789abcdef0123456789abcdef"])
    func `refuses an id that is none`(text: String) throws {
        try Data(text.utf8).write(to: directory.url.appending(path: ".larder-cache-id"))
        #expect(code { _ = try DiskCache(opening: directory.path) } == .damaged)
    }

    @Test(arguments: ["", ".", "..", "a/b", "../x", "/", ".hidden", "a\u{0}b"])
    func `refuses a namespace that is no plain name`(namespace: String) {
        #expect(code { _ = try DiskCache(opening: directory.path, namespace: namespace) } == .invalidName)
    }

    @Test(arguments: ["", "a\u{0}b"])
    func `refuses a root that is no path`(root: String) {
        #expect(code { _ = try DiskCache(opening: root) } == .invalidName)
    }

    @Test func `says what stands in the way`() throws {
        try Data().write(to: directory.url.appending(path: "file"))
        #expect(code { _ = try DiskCache(opening: directory.path + "/file") } == .notADirectory)
        #expect(code { _ = try DiskCache(opening: directory.path, namespace: "file") } == .notADirectory)
        #expect(
            code { _ = try DiskCache(opening: directory.path, namespace: String(repeating: "n", count: 256)) }
                == .nameTooLong)
        #expect(symlink("loop", directory.path + "/loop") == 0)
        #expect(code { _ = try DiskCache(opening: directory.path + "/loop") } == .notADirectory)
    }

    @Test func `works through a symbolic link`() throws {
        try FileManager.default.createDirectory(atPath: directory.path + "/real", withIntermediateDirectories: false)
        #expect(symlink("real", directory.path + "/link") == 0)
        let cache = try DiskCache(opening: directory.path + "/link")
        try cache.store("picture", as: CacheKey("a"))
        #expect(try directory.names(in: "real/default") == [CacheKey("a").fileName])
    }

    @Test func `describes a failure in one line`() throws {
        let error = #expect(throws: StoreError.self) { try DiskCache(opening: "/proc/no\nsuch") }
        let text = try #require(error?.description)
        #expect(text.hasPrefix("\(try #require(error?.code.rawValue)): mkdir /proc/no?such"))
        #expect(!text.contains("\n"))
    }
}
