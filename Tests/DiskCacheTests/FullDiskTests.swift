import DiskCache
import Foundation
import Testing

/// What happens on a disk with no room, or no leave to write.
@Suite(.timeLimit(.minutes(5)))
struct `A disk that takes nothing` {
    private let key = CacheKey("http://example.com/image.png")

    @Test(.enabled(if: SmallDisk.isPossible, "needs to be root, and a kernel that mounts a tmpfs"))
    func `when full fails loudly and harms nothing`() throws {
        let disk = try SmallDisk()
        let cache = try DiskCache(opening: disk.path + "/root", durability: .full)
        try cache.store("old", as: key)
        let error = #expect(throws: StoreError.self) {
            try cache.store(String(repeating: "x", count: 4 << 20), as: key)
        }
        #expect(error?.code == .diskFull)
        #expect(contents(try #require(try cache.read(key))) == Array("old".utf8))
        #expect(try FileManager.default.contentsOfDirectory(atPath: cache.layout.directory) == [key.fileName])
        try cache.store(String(repeating: "x", count: 1000), as: key)
        #expect(try cache.read(key)?.size == 1000)
    }

    @Test(.enabled(if: SmallDisk.isPossible, "needs to be root, and a kernel that mounts a tmpfs"))
    func `when read-only still serves`() throws {
        let disk = try SmallDisk()
        let cache = try DiskCache(opening: disk.path + "/root")
        try cache.store("picture", as: key)
        try disk.remountReadOnly()
        #expect(contents(try #require(try cache.read(key))) == Array("picture".utf8))
        #expect(code { try cache.store("new", as: key) } == .readOnly)
        #expect(code { try cache.remove(key) } == .readOnly)
        #expect(code { _ = try DiskCache(opening: disk.path + "/root") } == .readOnly)
        #expect(code { _ = try DiskCache(opening: disk.path + "/other") } == .readOnly)
    }

    @Test(.enabled(if: getuid() != 0, "root may write anywhere"))
    func `when not ours fails with permission`() throws {
        let directory = try TemporaryDirectory()
        let cache = try DiskCache(opening: directory.path + "/root")
        try cache.store("picture", as: key)
        #expect(chmod(cache.layout.directory, 0o555) == 0)
        defer { chmod(cache.layout.directory, 0o755) }
        #expect(contents(try #require(try cache.read(key))) == Array("picture".utf8))
        #expect(code { try cache.store("new", as: key) } == .permission)
        #expect(code { _ = try DiskCache(opening: directory.path + "/root") } == .permission)
    }
}

/// One megabyte of file system, unmounted with its last reference.
private final class SmallDisk {
    static let isPossible = getuid() == 0 && (try? SmallDisk()) != nil

    private let directory: TemporaryDirectory
    var path: String { directory.path }

    init() throws {
        directory = try TemporaryDirectory()
        guard mount("tmpfs", directory.path, "tmpfs", 0, "size=1m") == 0 else { throw POSIXError(.EPERM) }
    }

    func remountReadOnly() throws {
        guard mount("tmpfs", directory.path, "tmpfs", UInt(MS_REMOUNT | MS_RDONLY), nil) == 0 else {
            throw POSIXError(.EPERM)
        }
    }

    deinit { umount2(directory.path, Int32(MNT_DETACH)) }
}
