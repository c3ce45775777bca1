import Foundation
import TestSupport
import Testing

@testable import DiskCache

/// A store whose template gives several keys one name.
@Suite(.timeLimit(.minutes(1)), .enabled(if: Attributes.areKept))
struct TemplateStoreTests {
    private let directory: TemporaryDirectory
    private let store: DirectoryStore

    init() throws {
        directory = try TemporaryDirectory()
        store = try Self.store(directory.path)
    }

    private static func store(_ root: String) throws -> DirectoryStore {
        try DirectoryStore(opening: root, naming: TemplateNaming(try PathTemplate("{dir}/{stem}.{ext}")))
    }

    @Test func `a file is stored below its directories, found again and replaced`() throws {
        let key = CacheKey("https://h/a/b/c.jpg")
        #expect(try store.contains(key) == false)
        try store.store("first", as: key)
        try store.store("second", as: key)
        #expect(store.relativePath(of: key) == "template/a/b/c.jpg")
        #expect(try store.open(key)?.bytes(100) == Array("second".utf8))
        #expect(try store.use(key) == 6)
        #expect(try store.contains(key))
        #expect(try directory.names(in: "template/a/b") == ["c.jpg"])
        #expect(try store.remove(key))
    }

    @Test func `another key is refused before and while it is stored, and the file stays`() throws {
        let key = CacheKey("https://user:secret@h/a.jpg?v=1")
        let other = CacheKey("https://h/a.jpg?token=secret")
        try store.store("first", as: key)
        #expect(code { _ = try store.open(other) } == .nameTaken)
        #expect(code { _ = try store.use(other) } == .nameTaken)
        #expect(code { _ = try store.contains(other) } == .nameTaken)
        #expect(code { try store.remove(other) } == .nameTaken)
        #expect(try store.remove(other, isDryRun: false) == [])
        #expect(try store.peek(other) == nil)
        #expect(try BundleExport(store).entry(for: other) == nil)
        let file = try store.begin()
        try write("second", to: file)
        let error = #expect(throws: StoreError.self) { try store.commit(file, as: other) }
        let text = try #require(error?.description)
        #expect(text.contains("template/a.jpg: it has the image of https://h/a.jpg?…"), "\(text)")
        #expect(!text.contains("secret"), "\(text)")
        #expect(try store.open(key)?.bytes(100) == Array("first".utf8))
    }

    @Test func `a file in place of a directory, and the reverse, concern only their own names`() throws {
        try store.store("file", as: CacheKey("https://h/a"))
        let below = CacheKey("https://h/a/b.jpg")
        #expect(code { _ = try store.open(below) } == .nameTaken)
        #expect(code { try store.store("below", as: below) } == .nameTaken)
        try store.store("deep", as: CacheKey("https://h/x/y.jpg"))
        #expect(code { try store.store("file", as: CacheKey("https://h/x")) } == .nameTaken)
        #expect(StoreError(.nameTaken, "use", "a").isLocal == false)
        try store.store("other", as: CacheKey("https://h/other.jpg"))
    }

    @Test func `a file that has no record of a key is refused`() throws {
        try Data("foreign".utf8).write(to: URL(filePath: directory.path + "/template/a.jpg"))
        #expect(code { _ = try store.open(CacheKey("https://h/a.jpg")) } == .nameTaken)
        #expect(code { try store.store("own", as: CacheKey("https://h/a.jpg")) } == .nameTaken)
        #expect(try store.remove(CacheKey("https://h/a.jpg"), isDryRun: false) == [])
        #expect(try directory.names(in: "template") == ["a.jpg"])
    }

    @Test func `keys too long for an attribute are told apart by their digests`() throws {
        let long = String(repeating: "q", count: 5_000)
        try store.store("first", as: CacheKey("https://h/a.jpg?" + long))
        #expect(try store.contains(CacheKey("https://h/a.jpg?" + long)))
        #expect(code { _ = try store.contains(CacheKey("https://h/a.jpg?x" + long)) } == .nameTaken)
    }

    @Test func `a copy keeps the records, and a bundle has the directories`() throws {
        let key = CacheKey("https://h/a/b.jpg")
        try store.store("image", as: key)
        let other = try Self.store(directory.path + "/other")
        #expect(try StoreCopy(from: store, to: other).copy("a/b.jpg", size: 5) == .copied)
        #expect(try StoreCopy(from: store, to: other).copy("../b.jpg", size: 5) == .stray)
        #expect(try other.contains(key))
        #expect(code { _ = try other.contains(CacheKey("https://h/a/b.jpg?v=2")) } == .nameTaken)
        let export = BundleExport(store)
        let entry = try #require(try export.entry(for: key))
        try export.write([entry], toDirectory: directory.path + "/bundle")
        #expect(try directory.names(in: "bundle/template/a") == ["b.jpg"])
        let report = try store.expire(ExpiryPolicy(maxAge: .zero, sparing: .zero), now: .now, isDryRun: false)
        #expect(report.expiredByAge.files == 1)
    }
}
