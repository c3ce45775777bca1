import Foundation
import Testing

@testable import DiskCache

/// Deletion below a directory that is held open.
struct HeldDirectoryTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    @Test func `deletes files and empty directories, and what does not exist is no error`() throws {
        try make("cache/a/b/file")
        let held = try HeldDirectory(directory.path + "/cache")
        try held.rmdir("a/b")
        try held.unlink("a/b/file")
        try held.unlink("a/b/file")
        try held.unlink("none/file")
        try held.rmdir("a/b")
        #expect(try directory.names(in: "cache/a") == [])
    }

    @Test func `a link in the place of a directory is not followed`() throws {
        try make("precious/file")
        try make("cache/sub/file")
        let held = try HeldDirectory(directory.path + "/cache")
        // Another process replaces the directory after it was listed.
        try FileManager.default.moveItem(atPath: directory.path + "/cache/sub", toPath: directory.path + "/aside")
        #expect(symlink(directory.path + "/precious", directory.path + "/cache/sub") == 0)
        #expect(throws: StoreError.self) { try held.unlink("sub/file") }
        #expect(try directory.names(in: "precious") == ["file"])
        try held.unlink("sub")
        #expect(try directory.names(in: "precious") == ["file"])
        #expect(try directory.names(in: "cache") == [])
    }

    @Test func `nothing is deleted through a link to the images, but through one to the root`() throws {
        let other = try DirectoryStore(opening: directory.path + "/other")
        try make("other/default/file")
        try FileManager.default.createDirectory(atPath: directory.path + "/cache", withIntermediateDirectories: true)
        #expect(symlink("../other/default", directory.path + "/cache/default") == 0)
        let linked = DirectoryStore(try CacheLayout(root: directory.path + "/cache"))
        let old = ExpiryPolicy(maxAge: .zero, sparing: .zero)
        for isDryRun in [true, false] {
            let error = #expect(throws: StoreError.self) { try linked.clear(isDryRun: isDryRun) }
            #expect(error?.code == .notADirectory)
            #expect(error?.path == directory.path + "/cache/default")
            #expect(error?.description.contains("symbolic link") == true)
            #expect(throws: StoreError.self) { _ = try linked.expire(old, isDryRun: isDryRun) }
        }
        #expect(throws: StoreError.self) { _ = try linked.remove(named: "file") }
        #expect(try directory.names(in: "other/default") == ["file"])

        #expect(symlink("other", directory.path + "/root") == 0)
        let root = DirectoryStore(try CacheLayout(root: directory.path + "/root"))
        #expect(try root.remove(named: "file"))
        #expect(try !root.remove(named: "file"))
        try make("other/default/file")
        try root.clear()
        #expect(try directory.names(in: "other/default") == [])
        #expect(try other.count() == 0)
    }

    @Test func `the lock of expiry is not taken through a link`() throws {
        let store = try DirectoryStore(opening: directory.path + "/cache")
        try make("precious/file")
        #expect(symlink(directory.path + "/precious/new", directory.path + "/cache/.larder-expiry") == 0)
        #expect(throws: StoreError.self) { _ = try store.expire() }
        #expect(try directory.names(in: "precious") == ["file"])
    }

    private func make(_ path: String) throws {
        let file = URL(fileURLWithPath: directory.path + "/" + path)
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data("x".utf8).write(to: file)
    }
}
