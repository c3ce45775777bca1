import Foundation
import Testing

@testable import DiskCache

@Suite(.timeLimit(.minutes(5)))
struct OpeningTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    @Test func `creates missing directories and keeps its id`() throws {
        let first = try DirectoryStore(opening: directory.path + "/a/b//c/", durability: .full)
        #expect(try UUID(uuidString: first.cacheID) != nil)
        #expect(try DirectoryStore(opening: directory.path + "/a/b/c").cacheID == first.cacheID)
        #expect(try DirectoryStore(opening: directory.path + "/a/b/c", namespace: "other").cacheID == first.cacheID)
        #expect(try DirectoryStore(opening: directory.path + "/a").cacheID != first.cacheID)
        #expect(try directory.names(in: "a/b/c") == [".larder-cache-id", "default", "other"])
    }

    @Test func `gives one id to concurrent openings`() throws {
        for round in 0..<10 {
            let root = directory.path + "/\(round)"
            // Threads, not tasks: all must be between the check and the write at the same time.
            let opened = (0..<16).map { _ in Opened() }
            for result in opened { Thread { result.open(root) }.start() }
            let ids = opened.map { $0.id() }
            try #require(Set(ids).count == 1)
            #expect(ids[0] != nil)
            #expect(try directory.names(in: "\(round)") == [".larder-cache-id", "default"])
        }
    }

    @Test(arguments: ["", "no id\n", "0123456789abcdef0123456789abcdef0123456789abcdef"])
    func `refuses an invalid id`(text: String) throws {
        try Data(text.utf8).write(to: directory.url.appending(path: ".larder-cache-id"))
        #expect(code { _ = try DirectoryStore(opening: directory.path) } == .damaged)
    }

    @Test(arguments: ["", ".", "..", "a/b", "../x", "/", ".hidden", "a\u{0}b"])
    func `refuses a namespace that is not a visible file name`(namespace: String) {
        #expect(code { _ = try DirectoryStore(opening: directory.path, namespace: namespace) } == .invalidName)
    }

    @Test(arguments: ["", "a\u{0}b"])
    func `refuses an invalid root`(root: String) {
        #expect(code { _ = try DirectoryStore(opening: root) } == .invalidName)
    }

    @Test func `reports what prevents it`() throws {
        try Data().write(to: directory.url.appending(path: "file"))
        #expect(code { _ = try DirectoryStore(opening: directory.path + "/file") } == .notADirectory)
        #expect(code { _ = try DirectoryStore(opening: directory.path, namespace: "file") } == .notADirectory)
        #expect(
            code { _ = try DirectoryStore(opening: directory.path, namespace: String(repeating: "n", count: 256)) }
                == .nameTooLong)
        #expect(symlink("loop", directory.path + "/loop") == 0)
        #expect(code { _ = try DirectoryStore(opening: directory.path + "/loop") } == .notADirectory)
    }

    @Test func `works through a symbolic link`() throws {
        try FileManager.default.createDirectory(atPath: directory.path + "/real", withIntermediateDirectories: false)
        #expect(symlink("real", directory.path + "/link") == 0)
        let cache = try DirectoryStore(opening: directory.path + "/link")
        try cache.store("image", as: CacheKey("a"))
        #expect(try directory.names(in: "real/default") == [CacheKey("a").fileName])
    }

    @Test func `describes a failure in one line`() throws {
        let error = #expect(throws: StoreError.self) { try DirectoryStore(opening: "/proc/no\nsuch") }
        let text = try #require(error?.description)
        #expect(text.hasPrefix("cannot create the directory /proc/no?such: "))
        #expect(text.contains("(mkdir, errno "))
        #expect(!text.contains("\n"))
    }

    @Test func `describes failures without a system call`() throws {
        #expect(
            StoreError(.exists, "export to", "/a/b").description
                == "cannot export to /a/b: it exists already")
        let error = #expect(throws: StoreError.self) { try CacheLayout(root: "/a", namespace: "../b") }
        #expect(error?.description == "cannot use as a cache namespace '../b'")
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
        found = try? DirectoryStore(opening: root).cacheID
        done.signal()
    }

    func id() -> String? {
        done.wait()
        return found
    }
}
