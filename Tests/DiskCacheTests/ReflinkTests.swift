import DiskCache
import Foundation
import Glibc
import TestSupport
import Testing

/// Files with the same bytes on file systems that can share blocks, and on others.
@Suite(.timeLimit(.minutes(5)))
struct ReflinkTests {
    private let block = String(repeating: "image ", count: 40_000)

    /// Three equal files, one of the same size, one of another size and two small ones, all with old access times.
    private func fill(_ root: String) throws -> DirectoryStore {
        let cache = try DirectoryStore(opening: root)
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

    /// Names, inodes and attributes of all files.
    private func looks(_ store: DirectoryStore) throws -> [String] {
        var looks: [String] = []
        try store.list(hidden: true) { (entry) throws(StoreError) in
            let inode = status(store.layout.directory + "/" + entry.path).st_ino
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
    func `share their blocks and keep all attributes`(kind: ImageDisk.Kind) async throws {
        let disk = try await ImageDisk(kind)
        let cache = try fill(disk.path + "/root")
        let before = try looks(cache)
        let taken = try await room(disk.path)

        let dry = try Reflink(cache, isDryRun: true).run()
        #expect(dry.shared == 2)
        #expect(dry.sharedBytes == 2 * block.utf8.count)
        #expect(try await room(disk.path) == taken)

        var pairs: [(String, String)] = []
        let report = try Reflink(cache).run(shared: { pairs.append(($0, $1)) })
        #expect(report.seen == 5, "\(report)")
        #expect(report.read == 4, "\(report)")
        #expect(report.shared == 2, "\(report)")
        #expect(report.failed == 0, "\(report)")
        #expect(report.sharedBytes == 2 * block.utf8.count)
        let equal = Set(["a", "b", "c"].map { CacheKey($0).fileName })
        #expect(pairs.count == 2)
        #expect(pairs.allSatisfy { equal.contains($0) && equal.contains($1) && $0 != $1 })
        // Two files of 79 blocks, less metadata.
        let freed = taken - (try await room(disk.path))
        #expect(freed > block.utf8.count * 2 - 65_536, "\(freed) bytes were freed")
        #expect(try looks(cache) == before)

        // Replacing and deleting one file does not change the others.
        try cache.store("new", as: CacheKey("a"))
        try cache.remove(CacheKey("b"))
        let rest = try #require(try cache.open(CacheKey("c")))
        #expect(contents(rest) == Array(block.utf8))
        #expect(try cache.extendedData(for: CacheKey("c")) == Array("c".utf8))
        #expect(try Reflink(cache).run().shared == 0)
    }

    @Test(.enabled(if: Privilege.mayMount, "needs to be root, and a kernel that mounts a tmpfs"))
    func `are reported as unsupported where blocks cannot be shared`() throws {
        let directory = try TemporaryDirectory()
        #expect(mount("tmpfs", directory.path, "tmpfs", 0, "size=8m") == 0)
        defer { umount2(directory.path, Int32(MNT_DETACH)) }
        let cache = try fill(directory.path + "/root")
        let before = try looks(cache)
        let error = #expect(throws: StoreError.self) { try Reflink(cache).run() }
        #expect(error?.code == .unsupported, "\(String(describing: error))")
        #expect(try Reflink(cache, isDryRun: true).run().shared == 2)
        #expect(try looks(cache) == before)
        let none = try DirectoryStore(CacheLayout(root: directory.path + "/none"))
        #expect(code { _ = try Reflink(none).run() } == .missing)
    }

    /// The used bytes of the file system.
    private func room(_ path: String) async throws -> Int {
        // btrfs frees blocks with the next transaction.
        try await SystemTool.run(["sync", "-f", path])
        var status = statvfs()
        #expect(statvfs(path, &status) == 0)
        return Int((status.f_blocks - status.f_bfree) * status.f_frsize)
    }
}
