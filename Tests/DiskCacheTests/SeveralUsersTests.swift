import Foundation
import Testing

@testable import DiskCache

/// A cache that another user made and works in, too.
@Suite(.timeLimit(.minutes(5)), .enabled(if: AnotherUser.isPossible, "needs to be root, to be somebody else"))
struct `A cache of several users` {
    private let directory: TemporaryDirectory
    private let root: String
    private let key = CacheKey("http://example.com/image.png")

    init() throws {
        directory = try TemporaryDirectory()
        root = directory.path + "/root"
    }

    /// Root's, with what a dead process of root's left, where all may write; searched last so long ago that it is due.
    private func make(directoryMode: UInt16) throws -> DiskCache {
        let cache = try DiskCache(opening: root, permissions: FilePermissions(directoryMode: directoryMode))
        let this = TemporaryName.Writer.this
        let dead = "\(this.boot).\(this.namespace).\(this.process).\(this.startTime + 1).ff"
        try Data().write(to: URL(filePath: root + "/.larder-open." + dead))
        try Data().write(to: URL(filePath: cache.layout.directory + "/.larder." + dead))
        let then = timespec(tv_sec: time(nil) - 25 * 3600, tv_nsec: 0)
        #expect(utimensat(AT_FDCWD, root + "/.larder-swept.default", [then, then], 0) == 0)
        return cache
    }

    @Test func `opens though what dead processes left there may not be deleted`() async throws {
        let cache = try make(directoryMode: 0o1777)
        let (root, key) = (root, key)
        try await AnotherUser.run {
            let other = try DiskCache(opening: root)
            try other.store("picture", as: key)
        }
        #expect(try cache.read(key)?.size == 7)
        #expect(status(cache.layout.path(of: key)).st_uid == AnotherUser.number)
        _ = try DiskCache(opening: root)
        #expect(try directory.names(in: "root/default") == [key.fileName], "its owner sweeps it")
    }

    @Test func `is swept by whoever may, and the mark is then that user's`() async throws {
        let cache = try make(directoryMode: 0o777)
        let root = root
        let opened = try await AnotherUser.run { try DiskCache(opening: root) }
        #expect(try directory.names(in: "root/default").isEmpty)
        #expect(try OpenMarker.ofDead(in: root).isEmpty)
        let mark = status(root + "/.larder-swept.default")
        #expect(mark.st_uid == AnotherUser.number && time(nil) - mark.st_mtim.tv_sec < 3600)
        withExtendedLifetime((cache, opened)) {}
    }

    @Test func `is expired by either, one at a time`() async throws {
        let layout = try make(directoryMode: 0o777).layout
        let lock = try ExpiryLock(in: root)
        let busy = try await AnotherUser.run { code { _ = try Expiry(layout).run() } }
        #expect(busy == .busy)
        lock.release()
        let seen = try await AnotherUser.run { try Expiry(layout).run().seen.files }
        #expect(seen == 0)
    }
}
