import Concurrency
import DiskCache
import Foundation
import Glibc
import Measuring

extension Benchmark {
    /// Dry runs over one tree, so that all read the same names in the same order. At the end expiry deletes a tenth of
    /// the files, and `find` another tenth.
    static let expiry = Benchmark(
        name: "expiry",
        question: "What does reading every file of a large cache cost, compared with find over the same tree?"
    ) { options in
        let scratch = try Scratch(in: options.directory)
        let count = options.files ?? 1_000_000
        let tree = try Tree(of: count, in: scratch.path)
        let layout = tree.layout
        let store = DirectoryStore(layout)
        note("  \(count) files made")

        func measure(_ name: String, _ body: () throws -> Int) throws -> [String: Double] {
            resetPeakMemory()
            let start = ContinuousClock.now
            guard try body() == count else { throw MeasuringError("\(name) did not read \(count) files") }
            return [name: (ContinuousClock.now - start).seconds, "memory_\(name)": memorySize("VmHWM")]
        }

        var rounds = try await Rounds(
            options.rounds,
            [
                {
                    try measure("find") {
                        let lines = "find '\(layout.directory)' -type f -printf '%A@ %T@ %b %p\\n' | wc -l"
                        return Int(try Shell.output(lines).trimmingCharacters(in: .whitespacesAndNewlines)) ?? 0
                    }
                },
                {
                    try measure("expire_by_age") {
                        let policy = ExpiryPolicy(maxAge: .seconds(86_400))
                        return try store.expire(policy, isDryRun: true).seen.files
                    }
                },
                {
                    try measure("expire_by_size") {
                        let policy = ExpiryPolicy(maxAge: nil, maxSize: count * 3072)
                        return try store.expire(policy, isDryRun: true).seen.files
                    }
                },
                { try measure("stat") { try CacheUsage(of: store).files } },
                {
                    try measure("list") {
                        var bytes = 0, seen = 0
                        try store.list { entry in
                            bytes += entry.path.utf8.count
                            seen += 1
                            return true
                        }
                        return bytes > 32 * seen ? seen : 0
                    }
                },
            ])

        let deleted = try ContinuousClock().measure {
            let report = try store.expire(ExpiryPolicy(maxAge: .seconds(2 * 86_400)))
            guard report.expiredByAge.files == tree.oldest else {
                throw MeasuringError("expiry deleted \(report.expiredByAge.files)")
            }
        }
        let found = try ContinuousClock().measure {
            _ = try Shell.output("find '\(layout.directory)' -type f -amin +2160 -delete")
        }
        rounds.add([
            "delete_expired": Double(tree.oldest) / deleted.seconds, "delete_find": Double(tree.older) / found.seconds,
        ])
        let reads = ["expire_by_age", "expire_by_size", "stat", "list"]
        return Findings(
            measurements: try rounds.measurements(
                reads.map { Figure($0, "s", against: "find") } + [Figure("find", "s")]
                    + reads.map { Figure("memory_\($0)", "MiB") }
                    + [Figure("delete_expired", "files/s", against: "delete_find"), Figure("delete_find", "files/s")]),
            input: "\(count) files of 100 bytes in one directory, \(scratch.fileSystem); dry runs; memory is the peak "
                + "of this process; the deletions once, a tenth of the files each")
    }
}

/// Small files: a tenth is three days old, a tenth 37 hours, the others are new.
private struct Tree {
    let layout: CacheLayout
    let oldest: Int
    let older: Int

    init(of count: Int, in root: String) throws {
        layout = try CacheLayout(root: root + "/cache")
        try FileManager.default.createDirectory(atPath: layout.directory, withIntermediateDirectories: true)
        let bytes = [UInt8](repeating: 7, count: 100)
        let now = time(nil)
        var ages = [0, 0]
        for number in 0..<count {
            let path = layout.path(of: CacheKey("https://images.example.com/\(number).jpg"))
            let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
            guard file >= 0 else { throw MeasuringError("open \(path): errno \(errno)") }
            defer { close(file) }
            guard write(file, bytes, bytes.count) == bytes.count else { throw MeasuringError("write: errno \(errno)") }
            guard number % 10 < 2 else { continue }
            ages[number % 10] += 1
            let date = timespec(tv_sec: now - (number % 10 == 0 ? 3 * 86_400 : 37 * 3600), tv_nsec: 0)
            guard futimens(file, [date, date]) == 0 else { throw MeasuringError("futimens: errno \(errno)") }
        }
        oldest = ages[0]
        older = ages[1]
    }
}
