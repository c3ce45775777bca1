import Foundation
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
        for (number, key) in keys.enumerated() { try file(key.fileName, accessed: old + number, size: 4096) }
        // Passed by the last file only: by then the oldest has been met, or is the last itself.
        let policy = ExpiryPolicy(maxAge: nil, maxSize: 20 * 4096 - 1)
        let report = try Expiry(layout, policy: policy).run(progress: { report in
            guard report.seen.files == 19 else { return true }
            let read = try? DiskCache(opening: directory.path).read(keys[0])
            #expect(read != nil)
            return true
        })
        try #require(report.seen.bytes == 20 * 4096, "a file system with blocks of 4096 bytes")
        #expect(try names().contains(keys[0].fileName))
        #expect(try !names().contains(keys[1].fileName))
        #expect(report.crowded.files == 11)
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

    @Test(.enabled(if: getuid() == 0, "needs to be root, to make a file that root may not delete"))
    func `goes on behind a file that cannot be deleted`() throws {
        // A mount point cannot be unlinked, not even by root.
        for number in 0..<3 { try file("\(number)", accessed: old + number, size: 4096) }
        let stuck = layout.directory + "/0"
        guard mount(stuck, stuck, nil, UInt(MS_BIND), nil) == 0 else { return }
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
