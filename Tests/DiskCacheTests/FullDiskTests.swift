import DiskCache
import Foundation
import TestSupport
import Testing

/// A cache on a full or read-only file system.
@Suite(.timeLimit(.minutes(5)))
struct FullDiskTests {
    private let key = CacheKey("http://example.com/image.png")

    @Test(.enabled(if: SmallDisk.isPossible, "needs to be root, and a kernel that mounts a tmpfs"))
    func `fails with diskFull when full and keeps every image`() throws {
        let disk = try SmallDisk()
        let cache = try DirectoryStore(opening: disk.path + "/root", durability: .full)
        try cache.store("old", as: key)
        let error = #expect(throws: StoreError.self) {
            try cache.store(String(repeating: "x", count: 4 << 20), as: key)
        }
        #expect(error?.code == .diskFull)
        #expect(contents(try #require(try cache.open(key))) == Array("old".utf8))
        #expect(try FileManager.default.contentsOfDirectory(atPath: cache.layout.directory) == [key.fileName])
        try cache.store(String(repeating: "x", count: 1000), as: key)
        #expect(try cache.open(key)?.size == 1000)
    }

    @Test func `a discarded file takes no room while another process holds its descriptor`() throws {
        let directory = try TemporaryDirectory()
        let cache = try DirectoryStore(opening: directory.path)
        func copyOfDiscarded(_ text: String, committed: Bool) throws -> Int32 {
            let file = try cache.begin()
            try write(text, to: file)
            if committed { try cache.commit(file, as: key) }
            return dup(file.descriptor)
        }
        for (committed, size) in [(false, 0), (true, 5)] {
            let copy = try copyOfDiscarded("image", committed: committed)
            defer { close(copy) }
            var status = stat()
            #expect(fstat(copy, &status) == 0)
            #expect(status.st_size == size)
        }
        #expect(contents(try #require(try cache.open(key))) == Array("image".utf8))
    }

    @Test(.enabled(if: SmallDisk.isPossible, "needs to be root, and a kernel that mounts a tmpfs"))
    func `keeps the old image when full at any step and stores the new one later`() async throws {
        let disk = try SmallDisk()
        let cache = try DirectoryStore(opening: disk.path + "/root", durability: .full)
        try cache.store("old", as: key)
        let room = try disk.freeBytes
        let ballast = disk.path + "/ballast"
        var failures = 0
        // With each number of free pages from none to enough, so that every step of storing fails once.
        for pages in 0...24 {
            try cache.store("old", as: key)
            // The replaced image takes room while another process holds a copy of its descriptor.
            try #require(await reached { try disk.freeBytes >= room })
            try fill(ballast, leaving: pages * 4096, of: disk)
            let new = String(repeating: "n", count: 15 * 4096)
            let failure = code { try cache.store(new, as: key) }
            if failure != nil {
                failures += 1
                #expect(failure == .diskFull)
                #expect(contents(try #require(try cache.open(key))) == Array("old".utf8))
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: cache.layout.directory) == [key.fileName])
            #expect(truncate(ballast, 0) == 0)
            try cache.store(new, as: key)
            #expect(try cache.open(key)?.size == 15 * 4096)
        }
        #expect((10...20).contains(failures), "\(failures) of 25 had too little room")
    }

    @Test(.enabled(if: ImageDisk.isPossible(.btrfs), "needs to be root, loop devices, and btrfs"))
    func `keeps the old image when the quota is exceeded at any step and stores the new one later`()
        async throws
    {
        let disk = try await ImageDisk(.btrfs)
        let place = try await disk.makeQuota("root", limit: 8 << 20)
        let cache = try DirectoryStore(opening: place, durability: .full)
        let old = String(repeating: "o", count: 15 * 4096)
        let new = String(repeating: "n", count: 15 * 4096)
        var steps: Set<String> = []
        var failures = 0
        for limit in stride(from: 16 << 10, through: 640 << 10, by: 16 << 10) {
            try cache.store(old, as: key, extendedData: [1])
            try await disk.setQuota(of: place, limit: limit)
            do {
                try cache.store(new, as: key, extendedData: [2])
            } catch let error as StoreError {
                failures += 1
                steps.insert(error.operation)
                #expect(error.code == .diskFull, "\(error)")
                #expect(error.number == EDQUOT, "\(error)")
                #expect(contents(try #require(try cache.open(key))) == Array(old.utf8))
            }
            try await disk.setQuota(of: place, limit: nil)
            #expect(try FileManager.default.contentsOfDirectory(atPath: cache.layout.directory) == [key.fileName])
            try cache.store(new, as: key, extendedData: [3])
            #expect(contents(try #require(try cache.open(key))) == Array(new.utf8))
        }
        // Which steps fail depends on btrfs; so far opening, attributes and the rename did.
        #expect(steps.contains("open"), "\(steps)")
        #expect((2...38).contains(failures), "\(failures) of 40 had too little room")
    }

    @Test(
        .enabled(if: DeniedCall.isPossible, "needs a kernel that filters system calls, on x86-64"),
        arguments: DeniedCall.ofStore, [EDQUOT, ENOSPC, EIO])
    func `keeps only the old image when one system call fails`(step: DeniedCall, number: Int32) async throws {
        let directory = try TemporaryDirectory()
        for durability in [Durability.data, .full] {
            let cache = try DirectoryStore(opening: directory.path + "/\(durability.rawValue)", durability: durability)
            try cache.store("old", as: key)
            let error = try await step.withNumber(number) { [key] in
                do {
                    try cache.store("new", as: key, extendedData: [1])
                    return StoreError?.none
                } catch let error as StoreError {
                    return error
                }
            }
            let isMet = step != (durability == .data ? .fileToDisk : .dataToDisk)
            #expect(error?.number == (isMet ? number : nil), "\(String(describing: error))")
            #expect(error?.code == (isMet ? (number == EIO ? .inputOutput : .diskFull) : nil))
            #expect(contents(try #require(try cache.open(key))) == Array((isMet ? "old" : "new").utf8))
            #expect(try FileManager.default.contentsOfDirectory(atPath: cache.layout.directory) == [key.fileName])
            try cache.store("newer", as: key)
            #expect(contents(try #require(try cache.open(key))) == Array("newer".utf8))
        }
    }

    @Test(.enabled(if: DeniedCall.isPossible, "needs a kernel that filters system calls, on x86-64"))
    func `reports a failed sync of the directory and has the new image`() async throws {
        let directory = try TemporaryDirectory()
        let cache = try DirectoryStore(opening: directory.path + "/root", durability: .full)
        try cache.store("old", as: key)
        let failure = try await DeniedCall.openDirectory.withNumber(EIO) { [key] in
            code { try cache.store("new", as: key) }
        }
        #expect(failure == .inputOutput)
        #expect(contents(try #require(try cache.open(key))) == Array("new".utf8))
        #expect(try FileManager.default.contentsOfDirectory(atPath: cache.layout.directory) == [key.fileName])
    }

    @Test(
        .enabled(if: DeniedCall.isPossible, "needs a kernel that filters system calls, on x86-64"),
        arguments: [EPERM, ENOTSUP, ENOSYS])
    func `works without hard links`(number: Int32) async throws {
        let directory = try TemporaryDirectory()
        let root = directory.path + "/root"
        let ids = try await DeniedCall.link.withNumber(number) {
            [try DirectoryStore(opening: root).cacheID, try DirectoryStore(opening: root).cacheID]
        }
        #expect(ids[0] == ids[1])
        #expect(try DirectoryStore(opening: root).cacheID == ids[0])
        #expect(try directory.names(in: "root") == [".larder-cache-id", "default"])
        let failure = try await DeniedCall.link.withNumber(EIO) {
            code { _ = try DirectoryStore(opening: directory.path + "/other") }
        }
        #expect(failure == .inputOutput, "other errors are reported")
    }

    @Test(.enabled(if: SmallDisk.isPossible, "needs to be root, and a kernel that mounts a tmpfs"))
    func `fails with diskFull when out of inodes and can be opened later`() throws {
        let disk = try SmallDisk(options: "size=1m,nr_inodes=8")
        let cache = try DirectoryStore(opening: disk.path + "/root")
        try cache.store("old", as: key)
        var made: [String] = []
        while true {
            let path = disk.path + "/\(made.count)"
            // Not by open: another process could hold a copy of the descriptor and with it the inode.
            if mknod(path, S_IFREG | 0o644, 0) != 0 { break }
            made.append(path)
        }
        let error = #expect(throws: StoreError.self) { try cache.store("new", as: key) }
        #expect(error?.code == .diskFull)
        #expect(error?.path.hasPrefix(cache.layout.directory) == true)
        #expect(code { _ = try DirectoryStore(opening: disk.path + "/root") } == .diskFull)
        #expect(contents(try #require(try cache.open(key))) == Array("old".utf8))
        made.forEach { unlink($0) }
        try cache.store("new", as: key)
    }

    @Test(arguments: [
        (ENOSPC, StoreError.Code.diskFull), (EDQUOT, .diskFull), (EROFS, .readOnly), (EACCES, .permission),
        (EPERM, .permission), (ENAMETOOLONG, .nameTooLong), (ESTALE, .missing), (ENOENT, .missing), (EIO, .inputOutput),
        (EMFILE, .tooManyOpenFiles), (ENOTDIR, .notADirectory),
    ])
    func `describes the error number and the path`(number: Int32, code: StoreError.Code) {
        let error = StoreError("write", "/cache/default/x", number: number)
        #expect(error.code == code)
        #expect(error.number == number)
        #expect(error.description.contains("/cache/default/x"))
        #expect(error.description.contains("errno \(number)"))
    }

    /// Fills the disk except for `room` bytes.
    private func fill(_ path: String, leaving room: Int, of disk: SmallDisk) throws {
        let descriptor = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0o644)
        defer { close(descriptor) }
        let page = [UInt8](repeating: 1, count: 4096)
        while Glibc.write(descriptor, page, page.count) == page.count {}
        #expect(ftruncate(descriptor, max(0, off_t(Int(status(path).st_size) - room))) == 0)
    }

    @Test(.enabled(if: SmallDisk.isPossible, "needs to be root, and a kernel that mounts a tmpfs"))
    func `can be read when mounted read-only`() throws {
        let disk = try SmallDisk()
        let cache = try DirectoryStore(opening: disk.path + "/root")
        try cache.store("image", as: key)
        try disk.remountReadOnly()
        #expect(contents(try #require(try cache.open(key))) == Array("image".utf8))
        #expect(code { try cache.store("new", as: key) } == .readOnly)
        #expect(code { try cache.remove(key) } == .readOnly)
        #expect(code { _ = try DirectoryStore(opening: disk.path + "/root") } == .readOnly)
        #expect(code { _ = try DirectoryStore(opening: disk.path + "/other") } == .readOnly)
    }

    @Test(.enabled(if: getuid() != 0, "root may write anywhere"))
    func `fails with permission in a directory of another user`() throws {
        let directory = try TemporaryDirectory()
        let cache = try DirectoryStore(opening: directory.path + "/root")
        try cache.store("image", as: key)
        #expect(chmod(cache.layout.directory, 0o555) == 0)
        defer { chmod(cache.layout.directory, 0o755) }
        #expect(contents(try #require(try cache.open(key))) == Array("image".utf8))
        #expect(code { try cache.store("new", as: key) } == .permission)
        #expect(code { _ = try DirectoryStore(opening: directory.path + "/root") } == .permission)
    }
}

/// A tmpfs of one megabyte, unmounted with its last reference.
private final class SmallDisk {
    static let isPossible = getuid() == 0 && (try? SmallDisk()) != nil

    private let directory: TemporaryDirectory
    var path: String { directory.path }

    init(options: String = "size=1m") throws {
        directory = try TemporaryDirectory()
        guard mount("tmpfs", directory.path, "tmpfs", 0, options) == 0 else { throw POSIXError(.EPERM) }
    }

    func remountReadOnly() throws {
        guard mount("tmpfs", directory.path, "tmpfs", UInt(MS_REMOUNT | MS_RDONLY), nil) == 0 else {
            throw POSIXError(.EPERM)
        }
    }

    var freeBytes: Int {
        get throws {
            let attributes = try FileManager.default.attributesOfFileSystem(forPath: path)
            return try #require(attributes[.systemFreeSize] as? Int)
        }
    }

    deinit { umount2(directory.path, Int32(MNT_DETACH)) }

    @Test(
        arguments: [
            ("mkdir", ENOTDIR, true), ("open", ESTALE, true), ("write", ENXIO, true), ("fsync", ENODEV, true),
            ("fsync", EIO, true), ("pread", EIO, false), ("write", EFBIG, false), ("open", ENAMETOOLONG, false),
        ] as [(String, Int32, Bool)])
    func `a failure that every file meets is local, one of a single file is not`(
        operation: String, number: Int32, isLocal: Bool
    ) {
        #expect(StoreError(operation, "/cache/default/a", number: number).isLocal == isLocal)
    }
}
