import DiskCache
import Foundation
import Glibc
import TestSupport
import Testing

/// Files with the same bytes on file systems that can share blocks, and on others.
@Suite(.timeLimit(.minutes(5)))
struct `Files with the same bytes` {
    private let block = String(repeating: "picture ", count: 40_000)

    /// Three equal ones, one of the same length, one that is alone, two small ones; all last read long ago.
    private func fill(_ root: String) throws -> DiskCache {
        let cache = try DiskCache(opening: root)
        for name in ["a", "b", "c"] { try cache.store(block, as: CacheKey(name), extendedData: Array(name.utf8)) }
        try cache.store(String(block.dropLast()) + "!", as: CacheKey("d"))
        try cache.store(block + "longer", as: CacheKey("e"))
        for name in ["f", "g"] { try cache.store("small", as: CacheKey(name)) }
        for name in ["a", "b", "c", "d", "e", "f", "g"] {
            let then = timespec(tv_sec: 1_000_000_000, tv_nsec: 5)
            #expect(utimensat(AT_FDCWD, cache.layout.path(of: CacheKey(name)), [then, then], 0) == 0)
        }
        sync()
        return cache
    }

    /// Everything that names and inodes say.
    private func looks(_ layout: CacheLayout) throws -> [String] {
        var looks: [String] = []
        try layout.visit { (entry) throws(StoreError) in
            let inode = status(layout.directory + "/" + entry.path).st_ino
            looks.append(
                "\(entry.path) \(inode) \(entry.links) \(entry.size) \(entry.accessed) \(entry.modified) \(entry.changed) "
                    + "\(entry.created)")
            return true
        }
        return looks.sorted()
    }

    @Test(
        .enabled(
            if: ImageDisk.Kind.allCases.allSatisfy(ImageDisk.isPossible), "needs root, loop devices, btrfs and XFS"),
        arguments: ImageDisk.Kind.allCases)
    func `take the room of one, and nothing else about them changes`(kind: ImageDisk.Kind) async throws {
        let disk = try await ImageDisk(kind)
        let cache = try fill(disk.path + "/root")
        let before = try looks(cache.layout)
        let taken = try await room(disk.path)

        let dry = try Reflink(cache.layout, isDryRun: true).run()
        #expect(dry.shared == 2 && dry.sharedBytes == 2 * block.utf8.count)
        #expect(try await room(disk.path) == taken)

        var pairs: [(String, String)] = []
        let report = try Reflink(cache.layout).run(shared: { pairs.append(($0, $1)) })
        #expect(report.seen == 5 && report.read == 4 && report.shared == 2 && report.failed == 0, "\(report)")
        #expect(report.sharedBytes == 2 * block.utf8.count)
        let equal = Set(["a", "b", "c"].map { CacheKey($0).fileName })
        #expect(pairs.count == 2 && pairs.allSatisfy { equal.contains($0) && equal.contains($1) && $0 != $1 })
        // Two files of 79 blocks, less what the file system needs to say so.
        let freed = taken - (try await room(disk.path))
        #expect(freed > block.utf8.count * 2 - 65_536, "\(freed) bytes came free")
        #expect(try looks(cache.layout) == before)

        // Each is still its own: a rewritten or deleted one takes nothing from the others.
        try cache.store("new", as: CacheKey("a"))
        try cache.remove(CacheKey("b"))
        let rest = try #require(try cache.read(CacheKey("c")))
        #expect(contents(rest) == Array(block.utf8))
        #expect(try rest.extendedData() == Array("c".utf8))
        #expect(try Reflink(cache.layout).run().shared == 0)
    }

    @Test(.enabled(if: Privilege.mayMount, "needs to be root, and a kernel that mounts a tmpfs"))
    func `stay as they are where blocks cannot be shared, and that is said`() throws {
        let directory = try TemporaryDirectory()
        #expect(mount("tmpfs", directory.path, "tmpfs", 0, "size=8m") == 0)
        defer { umount2(directory.path, Int32(MNT_DETACH)) }
        let cache = try fill(directory.path + "/root")
        let before = try looks(cache.layout)
        let error = #expect(throws: StoreError.self) { try Reflink(cache.layout).run() }
        #expect(error?.code == .unsupported, "\(String(describing: error))")
        #expect(try Reflink(cache.layout, isDryRun: true).run().shared == 2)
        #expect(try looks(cache.layout) == before)
        let none = try CacheLayout(root: directory.path + "/none")
        #expect(code { _ = try Reflink(none).run() } == .missing)
    }

    /// What is taken of the file system, in bytes.
    private func room(_ path: String) async throws -> Int {
        // btrfs gives room back with its next transaction.
        try await SystemTool.run(["sync", "-f", path])
        var status = statvfs()
        #expect(statvfs(path, &status) == 0)
        return Int((status.f_blocks - status.f_bfree) * status.f_frsize)
    }
}
