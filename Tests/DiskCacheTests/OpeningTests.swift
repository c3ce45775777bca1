import Foundation
import Testing

@testable import DiskCache

@Suite(.timeLimit(.minutes(5)))
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

    @Test func `gives one id to all who open it at once`() throws {
        for round in 0..<10 {
            let root = directory.path + "/\(round)"
            // Threads, not tasks: all of them have to be between looking and writing at the same time.
            let opened = (0..<16).map { _ in Opened() }
            for result in opened { Thread { result.open(root) }.start() }
            let ids = opened.map { $0.id() }
            #expect(Set(ids).count == 1 && ids[0] != nil)
            #expect(try directory.names(in: "\(round)") == [".larder-cache-id", "default"])
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
        #expect(text.hasPrefix("cannot make the directory /proc/no?such: ") && text.contains("(mkdir, errno "))
        #expect(!text.contains("\n"))
    }

    @Test func `describes in plain words what the cache itself found out`() throws {
        #expect(
            StoreError(.exists, "export to", "/a/b").description
                == "cannot export to /a/b: something is there already")
        let error = #expect(throws: StoreError.self) { try CacheLayout(root: "/a", namespace: "../b") }
        #expect(error?.description == "cannot make a cache namespace of '../b'")
        #expect(
            StoreError("open", "/a", number: ENOENT).description
                == "cannot open /a: No such file or directory (open, errno 2)")
    }
}

/// The id that one thread found.
private final class Opened: @unchecked Sendable {  // protected by: `done`, signalled after the only write
    private var found: String?
    private let done = DispatchSemaphore(value: 0)

    func open(_ root: String) {
        found = try? DiskCache(opening: root).cacheID
        done.signal()
    }

    func id() -> String? {
        done.wait()
        return found
    }
}
