import Foundation
import Testing

@testable import DiskCache

/// A cache used by root and another user.
@Suite(.timeLimit(.minutes(5)), .enabled(if: AnotherUser.isPossible, "needs root to act as another user"))
struct SeveralUsersTests {
    private let directory: TemporaryDirectory
    private let root: String
    private let key = CacheKey("http://example.com/image.png")

    init() throws {
        directory = try TemporaryDirectory()
        root = directory.path + "/root"
    }

    /// A cache of root with temporary files of a dead process, last searched more than a day ago.
    private func make(directoryMode: UInt16) throws -> DirectoryStore {
        let cache = try DirectoryStore(opening: root, permissions: FilePermissions(directoryMode: directoryMode))
        let this = TemporaryName.Writer.this
        let dead = "\(this.boot).\(this.namespace).\(this.process).\(this.startTime + 1).ff"
        try Data().write(to: URL(filePath: root + "/.larder-open." + dead))
        try Data().write(to: URL(filePath: cache.layout.directory + "/.larder." + dead))
        let then = timespec(tv_sec: time(nil) - 25 * 3600, tv_nsec: 0)
        #expect(utimensat(AT_FDCWD, root + "/.larder-swept.default", [then, then], 0) == 0)
        return cache
    }

    @Test func `opens when the files of dead processes cannot be deleted`() async throws {
        let cache = try make(directoryMode: 0o1777)
        let (root, key) = (root, key)
        try await AnotherUser.run {
            let other = try DirectoryStore(opening: root)
            try other.store("image", as: key)
        }
        #expect(try cache.open(key)?.size == 5)
        #expect(status(cache.layout.path(of: key)).st_uid == AnotherUser.number)
        _ = try DirectoryStore(opening: root)
        #expect(try directory.names(in: "root/default") == [key.fileName], "the owner deletes it")
    }

    @Test func `is cleaned by any user with permission`() async throws {
        let cache = try make(directoryMode: 0o777)
        let root = root
        let opened = try await AnotherUser.run { try DirectoryStore(opening: root) }
        #expect(try directory.names(in: "root/default").isEmpty)
        #expect(try OpenMarker.ofDeadProcesses(in: root).isEmpty)
        let mark = status(root + "/.larder-swept.default")
        #expect(mark.st_uid == AnotherUser.number)
        #expect(time(nil) - mark.st_mtim.tv_sec < 3600)
        withExtendedLifetime((cache, opened)) {}
    }

    @Test func `is expired by one user at a time`() async throws {
        let store = DirectoryStore(try make(directoryMode: 0o777).layout)
        let lock = try ExpiryLock(in: root)
        let busy = try await AnotherUser.run { code { _ = try store.expire() } }
        #expect(busy == .busy)
        lock.release()
        let seen = try await AnotherUser.run { try store.expire().seen.files }
        #expect(seen == 0)
    }
}
