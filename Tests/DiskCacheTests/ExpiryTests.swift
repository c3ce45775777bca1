import Foundation
import TestSupport
import Testing

@testable import DiskCache

/// Expiry of real files.
@Suite(.timeLimit(.minutes(5)))
struct ExpiryTests {
    private let directory: TemporaryDirectory
    private let layout: CacheLayout
    private let store: DirectoryStore
    private let old = 1_000_000_000

    init() throws {
        directory = try TemporaryDirectory()
        layout = try CacheLayout(root: directory.path)
        store = DirectoryStore(layout)
        try FileManager.default.createDirectory(atPath: layout.directory, withIntermediateDirectories: false)
    }

    @Test func `deletes files that were not read for seven days by default`() throws {
        let now = Timestamp.now
        try file("kept", accessed: now.seconds - 604_790, modified: old)
        try file("gone", accessed: now.seconds - 604_801, modified: now.seconds)
        let report = try store.expire(now: now)
        #expect(try names() == ["kept"])
        #expect(report.expiredByAge.files == 1)
        #expect(report.seen.files == 2)
        #expect(report.kept.files == 1)
        #expect(!report.isPartial)
        #expect(report.expiredBySize.files == 0)
        #expect(report.firstFailure == nil)
    }

    @Test func `compares the date that the policy names`() throws {
        let now = Timestamp.now
        try file("a", accessed: old, modified: now.seconds)
        try file("b", accessed: now.seconds, modified: old)
        func gone(_ kind: ExpiryPolicy.DateKind) throws -> [String] {
            var gone: [String] = []
            let policy = ExpiryPolicy(maxAge: .seconds(1000), date: kind)
            _ = try store.expire(policy, now: now, isDryRun: true, deleted: { gone.append($0.path) })
            return gone.sorted()
        }
        #expect(try gone(.access) == ["a"])
        #expect(try gone(.modification) == ["b"])
        // These two cannot be set: they are the current time.
        #expect(try gone(.change) == [])
        #expect(try gone(.creation) == [])
        let later = ExpiryPolicy(maxAge: .seconds(1000), date: .change)
        #expect(try store.expire(later, now: Timestamp(seconds: now.seconds + 2000)).expiredByAge.files == 2)
    }

    @Test func `distinguishes the creation of a file from its last change`() throws {
        try file("a", accessed: old)
        func dates() throws -> (created: Timestamp, changed: Timestamp) {
            var found: [(Timestamp, Timestamp)] = []
            try store.list(hidden: true) { (entry) throws(StoreError) in
                found.append((entry.created, entry.changed))
                return true
            }
            return try #require(found.first)
        }
        // Until the clock of file dates has advanced.
        var (created, changed) = try dates()
        while changed <= created {
            #expect(chmod(layout.directory + "/a", 0o600) == 0)
            (created, changed) = try dates()
        }
        func expired(_ kind: ExpiryPolicy.DateKind, _ now: Timestamp) throws -> Int {
            let policy = ExpiryPolicy(maxAge: .zero, date: kind, sparing: .zero)
            return try store.expire(policy, now: now, isDryRun: true).expiredByAge.files
        }
        #expect(try expired(.creation, created) == 1)
        #expect(try expired(.change, created) == 0)
        #expect(try expired(.change, changed) == 1)
    }

    @Test func `descends into visible directories and keeps hidden files`() throws {
        try FileManager.default.createDirectory(
            atPath: layout.directory + "/sub/deep", withIntermediateDirectories: true)
        try FileManager.default.createDirectory(atPath: layout.directory + "/.dir", withIntermediateDirectories: true)
        for name in [".hidden", "sub/old", "sub/deep/old", ".dir/old"] { try file(name, accessed: old) }
        _ = try store.expire()
        let left = try FileManager.default.subpathsOfDirectory(atPath: layout.directory).sorted()
        #expect(left == [".dir", ".dir/old", ".hidden", "sub", "sub/deep"])
    }

    @Test func `measures the disk space that files occupy`() throws {
        for number in 1...4 { try file("\(number)", accessed: old + number, size: 4096) }
        try #require(status(layout.directory + "/1").st_blocks == 8, "a file system with blocks of 4096 bytes")
        let policy = ExpiryPolicy(maxAge: nil, maxSize: 16_383)
        let report = try store.expire(policy)
        #expect(try names() == ["4"])
        #expect(report.expiredBySize == ExpiryReport.Count(files: 3, bytes: 3 * 4096))
        #expect(report.kept == ExpiryReport.Count(files: 1, bytes: 4096))
    }

    @Test func `passes SDWebImage's own test`() throws {
        let policy = ExpiryPolicy(maxAge: .seconds(1), maxSize: 10)
        try file("a", accessed: Timestamp.now.seconds + 100, size: 20)
        #expect(try CacheUsage(of: store).bytes == 20)
        #expect(try CacheUsage(of: store).entries == 1)
        _ = try store.expire(policy)
        #expect(try CacheUsage(of: store).entries == 0)
        // The second part of that test: a file of one byte that is one second old.
        let now = Timestamp.now
        try file("b", accessed: now.seconds, size: 1)
        let report = try store.expire(policy, now: Timestamp(seconds: now.seconds + 1))
        #expect(report.expiredByAge.files == 1)
        #expect(report.expiredBySize.files == 0)
        #expect(try CacheUsage(of: store).entries == 0)
    }

    @Test func `deletes nothing in a dry run`() throws {
        try file("gone", accessed: old, size: 100)
        var deleted: [ExpiredFile] = []
        let report = try store.expire(isDryRun: true, deleted: { deleted.append($0) })
        #expect(report.expiredByAge.files == 1)
        #expect(deleted.map(\.path) == ["gone"])
        #expect(deleted.map(\.reason) == [.age])
        #expect(deleted[0].date == Timestamp(seconds: old))
        #expect(try names() == ["gone"])
        #expect(try directory.names() == ["default"], "no lock file either")
    }

    @Test func `stops on request and continues in the next run`() throws {
        for number in 0..<50 { try file("\(number)", accessed: old) }
        var looks = 0
        let first = try store.expire(progress: { _ in
            looks += 1
            return looks < 20
        })
        #expect(first.isPartial)
        #expect(first.expiredByAge.files == 20)
        #expect(try names().count == 30)
        let second = try store.expire()
        #expect(!second.isPartial)
        #expect(second.expiredByAge.files == 30)
        #expect(try names().isEmpty)
    }

    @Test func `spares files that a running process has recently stored or read`() throws {
        let everything = ExpiryPolicy(maxAge: .zero, maxSize: 1)
        let read = CacheKey("read"), stored = CacheKey("stored")
        do {
            let cache = try DirectoryStore(opening: directory.path)
            try cache.store("a", as: read)
            try cache.store("b", as: stored)
            let then = timespec(tv_sec: old, tv_nsec: 0)
            #expect(utimensat(AT_FDCWD, layout.path(of: read), [then, then], 0) == 0)
            _ = try cache.open(read)
            let report = try store.expire(everything)
            #expect(try names().count == 2)
            #expect(report.spared.files == 2)
            #expect(report.expiredByAge.files == 0)
            // After the time in which a job can still use it.
            let later = Timestamp(seconds: Timestamp.now.seconds + 901)
            #expect(try store.expire(everything, now: later, isDryRun: true).expiredByAge.files == 2)
        }
        let report = try store.expire(everything)
        #expect(report.expiredByAge.files == 2, "no process has the store open")
        #expect(try names().isEmpty)
    }

    @Test func `spares files read by a process that opens the store during the run`() throws {
        let keys = (0..<20).map { CacheKey("image \($0)") }
        // A future date does not hide a read.
        let tomorrow = Timestamp.now.seconds + 86_400
        for (number, key) in keys.enumerated() {
            try file(key.fileName, accessed: old + number, modified: tomorrow, size: 4096)
        }
        // A file changed at the start of the run would count as used.
        var newest = Timestamp(seconds: 0)
        try store.list(hidden: true) { (entry) throws(StoreError) in
            newest = max(newest, entry.changed)
            return true
        }
        while Timestamp.nowOfFiles <= newest {}
        // Exceeded by the last file only, after the oldest was listed or as the oldest.
        let policy = ExpiryPolicy(maxAge: nil, maxSize: 20 * 4096 - 1)
        var cache: DirectoryStore?
        let report = try store.expire(
            policy,
            progress: { report in
                guard report.seen.files == 19 else { return true }
                cache = try? DirectoryStore(opening: directory.path)
                let read = try? cache?.open(keys[0])
                #expect(read != nil)
                return true
            })
        withExtendedLifetime(cache) {}
        try #require(report.seen.bytes == 20 * 4096, "a file system with blocks of 4096 bytes")
        #expect(try names().contains(keys[0].fileName))
        #expect(try !names().contains(keys[1].fileName))
        #expect(report.expiredBySize.files == 11)
    }

    @Test(arguments: [ExpiryPolicy.DateKind.access, .modification])
    func `spares old files read by a process that opens the store during the run`(
        kind: ExpiryPolicy.DateKind
    ) throws {
        let keys = (0..<20).map { CacheKey("image \($0)") }
        for key in keys { try file(key.fileName, accessed: old) }
        let policy = ExpiryPolicy(maxAge: .seconds(1000), date: kind)
        var cache: DirectoryStore?
        let report = try store.expire(
            policy,
            progress: { report in
                guard report.seen.files == 1 else { return true }
                cache = try? DirectoryStore(opening: directory.path)
                for key in keys { _ = try? cache?.open(key) }
                return true
            })
        withExtendedLifetime(cache) {}
        #expect(report.expiredByAge.files == 1)
        #expect(report.spared.files == (kind == .access ? 0 : 19), "by the access date they are not old")
        #expect(try names().count == 19)
    }

    @Test func `does not count a future date as a use`() throws {
        try file("a", accessed: Timestamp.now.seconds + 86_400)
        let cache = try DirectoryStore(opening: directory.path)
        let policy = ExpiryPolicy(maxAge: .zero, date: .change, sparing: .nanoseconds(1))
        // Only the future dates are so recent.
        let report = try store.expire(policy)
        #expect(report.expiredByAge.files == 1)
        #expect(report.spared.files == 0)
        withExtendedLifetime(cache) {}
    }

    @Test func `keeps and reports files whose names are not UTF-8`() throws {
        let path = Array((layout.directory + "/a").utf8) + [0xff, 0xfe, 0]
        let name = path.map(CChar.init(bitPattern:))
        let descriptor = open(name, O_WRONLY | O_CREAT | O_EXCL, 0o644)
        try #require(descriptor >= 0)
        #expect(Glibc.write(descriptor, [1], 1) == 1)
        close(descriptor)
        let then = timespec(tv_sec: old, tv_nsec: 0)
        #expect(utimensat(AT_FDCWD, name, [then, then], 0) == 0)
        for policy in [ExpiryPolicy(), ExpiryPolicy(maxAge: nil, maxSize: 1)] {
            try file("b", accessed: old)
            let report = try store.expire(policy)
            #expect(report.seen.files == 2)
            #expect(report.kept.files == 1)
            #expect(report.failed.files == (policy.maxAge == nil ? 0 : 1))
            #expect(report.firstFailure?.code == (policy.maxAge == nil ? nil : .invalidName))
            #expect(access(name, F_OK) == 0)
        }
        try file("b", accessed: old)
        var deleted: [String] = []
        #expect(code { try store.clear(deleted: { deleted.append($0.path) }) } == .invalidName)
        #expect(deleted == ["b"])
        #expect(access(name, F_OK) == 0)
    }

    @Test func `runs in one process at a time`() throws {
        let lock = try ExpiryLock(in: directory.path)
        #expect(code { _ = try store.expire() } == .busy)
        #expect(try store.expire(isDryRun: true).seen.files == 0)
        lock.release()
        #expect(try store.expire().seen.files == 0)
    }

    @Test func `reports a cache that does not exist`() throws {
        #expect(code { _ = try DirectoryStore(CacheLayout(root: directory.path + "/none")).expire() } == .missing)
        #expect(
            code { _ = try DirectoryStore(CacheLayout(root: directory.path, namespace: "none")).expire() } == .missing)
    }

    @Test(.enabled(if: Privilege.mayMount, "needs to be root, and to mount, to make a file that root may not delete"))
    func `continues after a file that cannot be deleted`() throws {
        // Root cannot unlink a mount point.
        for number in 0..<3 { try file("\(number)", accessed: old + number, size: 4096) }
        let stuck = layout.directory + "/0"
        try #require(mount(stuck, stuck, nil, UInt(MS_BIND), nil) == 0)
        defer { umount2(stuck, Int32(MNT_DETACH)) }
        let report = try store.expire(ExpiryPolicy(maxAge: nil, maxSize: 12_287))
        #expect(report.failed.files == 1)
        #expect(report.expiredBySize.files == 2)
        #expect(report.firstFailure?.path == stuck)
        #expect(try names() == ["0"], "its size counts, so both others are deleted")
    }

    // MARK: -

    private func file(_ name: String, accessed: Int, modified: Int? = nil, size: Int = 1) throws {
        let path = layout.directory + "/" + name
        try Data(repeating: 1, count: size).write(to: URL(filePath: path))
        let times = [timespec(tv_sec: accessed, tv_nsec: 0), timespec(tv_sec: modified ?? accessed, tv_nsec: 0)]
        #expect(utimensat(AT_FDCWD, path, times, 0) == 0)
    }

    private func names() throws -> [String] { try directory.names(in: "default") }
}
