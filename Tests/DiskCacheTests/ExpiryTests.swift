import Foundation
import TestSupport
import Testing

@testable import DiskCache

/// Expiry of real files.
@Suite(.timeLimit(.minutes(5)))
struct `Expiring a cache` {
    private let directory: TemporaryDirectory
    private let layout: CacheLayout
    private let old = 1_000_000_000

    init() throws {
        directory = try TemporaryDirectory()
        layout = try CacheLayout(root: directory.path)
        try FileManager.default.createDirectory(atPath: layout.directory, withIntermediateDirectories: false)
    }

    @Test func `goes by the date of the last read, in seven days`() throws {
        let now = Timestamp.now
        try file("kept", accessed: now.seconds - 604_790, modified: old)
        try file("gone", accessed: now.seconds - 604_801, modified: now.seconds)
        let report = try Expiry(layout).run(now: now)
        #expect(try names() == ["kept"])
        #expect(report.aged.files == 1 && report.seen.files == 2 && report.kept.files == 1)
        #expect(!report.isPartial && report.crowded.files == 0 && report.firstFailure == nil)
    }

    @Test func `goes by the date that is asked for`() throws {
        let now = Timestamp.now
        try file("a", accessed: old, modified: now.seconds)
        try file("b", accessed: now.seconds, modified: old)
        func gone(_ kind: ExpiryPolicy.DateKind) throws -> [String] {
            var gone: [String] = []
            let policy = ExpiryPolicy(maxAge: .seconds(1000), date: kind)
            _ = try Expiry(layout, policy: policy, isDryRun: true).run(now: now, deleted: { gone.append($0.path) })
            return gone.sorted()
        }
        #expect(try gone(.access) == ["a"])
        #expect(try gone(.modification) == ["b"])
        // Nobody can set these two: they are of today.
        #expect(try gone(.change) == [])
        #expect(try gone(.creation) == [])
        let later = ExpiryPolicy(maxAge: .seconds(1000), date: .change)
        #expect(try Expiry(layout, policy: later).run(now: Timestamp(seconds: now.seconds + 2000)).aged.files == 2)
    }

    @Test func `tells when a file was made from when it was changed`() throws {
        try file("a", accessed: old)
        func dates() throws -> (created: Timestamp, changed: Timestamp) {
            var found: [(Timestamp, Timestamp)] = []
            try layout.visit { (entry) throws(StoreError) in
                found.append((entry.created, entry.changed))
                return true
            }
            return try #require(found.first)
        }
        // Until the clock that files are dated by has gone on.
        var (created, changed) = try dates()
        while changed <= created {
            #expect(chmod(layout.directory + "/a", 0o600) == 0)
            (created, changed) = try dates()
        }
        func aged(_ kind: ExpiryPolicy.DateKind, _ now: Timestamp) throws -> Int {
            let policy = ExpiryPolicy(maxAge: .zero, date: kind)
            return try Expiry(layout, policy: policy, sparing: .zero, isDryRun: true).run(now: now).aged.files
        }
        #expect(try aged(.creation, created) == 1)
        #expect(try aged(.change, created) == 0)
        #expect(try aged(.change, changed) == 1)
    }

    @Test func `descends into visible directories and touches nothing hidden`() throws {
        try FileManager.default.createDirectory(
            atPath: layout.directory + "/sub/deep", withIntermediateDirectories: true)
        try FileManager.default.createDirectory(atPath: layout.directory + "/.dir", withIntermediateDirectories: true)
        for name in [".hidden", "sub/old", "sub/deep/old", ".dir/old"] { try file(name, accessed: old) }
        _ = try Expiry(layout).run()
        let left = try FileManager.default.subpathsOfDirectory(atPath: layout.directory).sorted()
        #expect(left == [".dir", ".dir/old", ".hidden", "sub", "sub/deep"])
    }

    @Test func `makes room by what files take on the disk`() throws {
        for number in 1...4 { try file("\(number)", accessed: old + number, size: 4096) }
        try #require(status(layout.directory + "/1").st_blocks == 8, "a file system with blocks of 4096 bytes")
        let policy = ExpiryPolicy(maxAge: nil, maxSize: 16_383)
        let report = try Expiry(layout, policy: policy).run()
        #expect(try names() == ["4"])
        #expect(report.crowded == ExpiryReport.Count(files: 3, bytes: 3 * 4096))
        #expect(report.kept == ExpiryReport.Count(files: 1, bytes: 4096))
    }

    @Test func `as SDWebImage's own test has it`() throws {
        let policy = ExpiryPolicy(maxAge: .seconds(1), maxSize: 10)
        try file("a", accessed: Timestamp.now.seconds + 100, size: 20)
        #expect(try CacheUsage(of: layout).bytes == 20)
        #expect(try CacheUsage(of: layout).entries == 1)
        _ = try Expiry(layout, policy: policy).run()
        #expect(try CacheUsage(of: layout).entries == 0)
        // Its second part: a byte that gets a second old.
        let now = Timestamp.now
        try file("b", accessed: now.seconds, size: 1)
        let report = try Expiry(layout, policy: policy).run(now: Timestamp(seconds: now.seconds + 1))
        #expect(report.aged.files == 1 && report.crowded.files == 0)
        #expect(try CacheUsage(of: layout).entries == 0)
    }

    @Test func `only tells, in a dry run`() throws {
        try file("gone", accessed: old, size: 100)
        var told: [ExpiredFile] = []
        let report = try Expiry(layout, isDryRun: true).run(deleted: { told.append($0) })
        #expect(report.aged.files == 1)
        #expect(told.map(\.path) == ["gone"] && told.map(\.reason) == [.age])
        #expect(told[0].date == Timestamp(seconds: old))
        #expect(try names() == ["gone"])
        #expect(try directory.names() == ["default"], "not even a lock")
    }

    @Test func `stops when told, and goes on another time`() throws {
        for number in 0..<50 { try file("\(number)", accessed: old) }
        var looks = 0
        let first = try Expiry(layout).run(progress: { _ in
            looks += 1
            return looks < 20
        })
        #expect(first.isPartial && first.aged.files == 20)
        #expect(try names().count == 30)
        let second = try Expiry(layout).run()
        #expect(!second.isPartial && second.aged.files == 30)
        #expect(try names().isEmpty)
    }

    @Test func `spares what somebody at work has just stored or read`() throws {
        let everything = ExpiryPolicy(maxAge: .zero, maxSize: 1)
        let read = CacheKey("read"), stored = CacheKey("stored")
        do {
            let cache = try DiskCache(opening: directory.path)
            try cache.store("a", as: read)
            try cache.store("b", as: stored)
            let then = timespec(tv_sec: old, tv_nsec: 0)
            #expect(utimensat(AT_FDCWD, layout.path(of: read), [then, then], 0) == 0)
            _ = try cache.read(read)
            let report = try Expiry(layout, policy: everything).run()
            #expect(try names().count == 2)
            #expect(report.spared.files == 2 && report.aged.files == 0)
            // To whom it has been left alone for so long that no job can have it in hand.
            let later = Timestamp(seconds: Timestamp.now.seconds + 901)
            #expect(try Expiry(layout, policy: everything, isDryRun: true).run(now: later).aged.files == 2)
        }
        let report = try Expiry(layout, policy: everything).run()
        #expect(report.aged.files == 2, "nobody is at work now")
        #expect(try names().isEmpty)
    }

    @Test func `spares what is read by somebody who came to work meanwhile`() throws {
        let keys = (0..<20).map { CacheKey("picture \($0)") }
        // A date to come hides no read.
        let tomorrow = Timestamp.now.seconds + 86_400
        for (number, key) in keys.enumerated() {
            try file(key.fileName, accessed: old + number, modified: tomorrow, size: 4096)
        }
        // Of the moment in which the run begins, a file would count as used since.
        var newest = Timestamp(seconds: 0)
        try layout.visit { (entry) throws(StoreError) in
            newest = max(newest, entry.changed)
            return true
        }
        while Timestamp.nowOfFiles <= newest {}
        // Passed by the last file only: by then the oldest has been met, or is the last itself.
        let policy = ExpiryPolicy(maxAge: nil, maxSize: 20 * 4096 - 1)
        var cache: DiskCache?
        let report = try Expiry(layout, policy: policy).run(progress: { report in
            guard report.seen.files == 19 else { return true }
            cache = try? DiskCache(opening: directory.path)
            let read = try? cache?.read(keys[0])
            #expect(read != nil)
            return true
        })
        withExtendedLifetime(cache) {}
        try #require(report.seen.bytes == 20 * 4096, "a file system with blocks of 4096 bytes")
        #expect(try names().contains(keys[0].fileName))
        #expect(try !names().contains(keys[1].fileName))
        #expect(report.crowded.files == 11)
    }

    @Test(arguments: [ExpiryPolicy.DateKind.access, .modification])
    func `spares for its age, too, what is read by somebody who came to work meanwhile`(
        kind: ExpiryPolicy.DateKind
    ) throws {
        let keys = (0..<20).map { CacheKey("picture \($0)") }
        for key in keys { try file(key.fileName, accessed: old) }
        let policy = ExpiryPolicy(maxAge: .seconds(1000), date: kind)
        var cache: DiskCache?
        let report = try Expiry(layout, policy: policy).run(progress: { report in
            guard report.seen.files == 1 else { return true }
            cache = try? DiskCache(opening: directory.path)
            for key in keys { _ = try? cache?.read(key) }
            return true
        })
        withExtendedLifetime(cache) {}
        #expect(report.aged.files == 1)
        #expect(report.spared.files == (kind == .access ? 0 : 19), "by the date of the read they are young anyway")
        #expect(try names().count == 19)
    }

    @Test func `takes a date to come for no use`() throws {
        try file("a", accessed: Timestamp.now.seconds + 86_400)
        let cache = try DiskCache(opening: directory.path)
        let policy = ExpiryPolicy(maxAge: .zero, date: .change)
        // Nothing but the dates to come is so new.
        let report = try Expiry(layout, policy: policy, sparing: .nanoseconds(1)).run()
        #expect(report.aged.files == 1 && report.spared.files == 0)
        withExtendedLifetime(cache) {}
    }

    @Test func `leaves what has a name that is no UTF-8, and says so`() throws {
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
            let report = try Expiry(layout, policy: policy).run()
            #expect(report.seen.files == 2 && report.kept.files == 1)
            #expect(report.failed.files == (policy.maxAge == nil ? 0 : 1))
            #expect(report.firstFailure?.code == (policy.maxAge == nil ? nil : .invalidName))
            #expect(access(name, F_OK) == 0)
        }
        try file("b", accessed: old)
        var told: [String] = []
        #expect(code { try layout.clear(isDryRun: false, deleted: { told.append($0.path) }) } == .invalidName)
        #expect(told == ["b"] && access(name, F_OK) == 0)
    }

    @Test func `is done by one process at a time`() throws {
        let lock = try ExpiryLock(in: directory.path)
        #expect(code { _ = try Expiry(layout).run() } == .busy)
        #expect(try Expiry(layout, isDryRun: true).run().seen.files == 0)
        lock.release()
        #expect(try Expiry(layout).run().seen.files == 0)
    }

    @Test func `of a cache that is not there says so`() throws {
        #expect(code { _ = try Expiry(CacheLayout(root: directory.path + "/none")).run() } == .missing)
        #expect(code { _ = try Expiry(CacheLayout(root: directory.path, namespace: "none")).run() } == .missing)
    }

    @Test(.enabled(if: Privilege.mayMount, "needs to be root, and to mount, to make a file that root may not delete"))
    func `goes on behind a file that cannot be deleted`() throws {
        // A mount point cannot be unlinked, not even by root.
        for number in 0..<3 { try file("\(number)", accessed: old + number, size: 4096) }
        let stuck = layout.directory + "/0"
        try #require(mount(stuck, stuck, nil, UInt(MS_BIND), nil) == 0)
        defer { umount2(stuck, Int32(MNT_DETACH)) }
        let report = try Expiry(layout, policy: ExpiryPolicy(maxAge: nil, maxSize: 12_287)).run()
        #expect(report.failed.files == 1 && report.crowded.files == 2)
        #expect(report.firstFailure?.path == stuck)
        #expect(try names() == ["0"], "it takes its room, so both others had to go")
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
