import CommandLine
import Concurrency
import DiskCache
import Reports
import Terminal

extension Command {
    static let cacheStat = Command(
        words: ["cache", "stat"], operands: "",
        summary: "Count the files and bytes of the cache by format and age",
        discussion: """
            'entries' and 'bytes' are SDWebImage's total count and total size, which include hidden files and directories. Ages are
            counted from the last read. Formats are recognised by the first bytes of each file, unless --quick is given.
            """,
        examples: ["larder cache stat --json"],
        options: CachePlace.options + [Option("quick", "do not open the files to recognise their formats")]
    ) { arguments in
        let place = try CachePlace(ofExisting: arguments)
        let isQuick = arguments.flag("quick")
        let total = await place.total()
        let statistics = try await place.disk.run { [store = place.store] in
            var statistics = CacheStatistics()
            var progress = WalkProgress("files seen", of: total)
            defer { progress.end() }
            try store.list(hidden: true) { entry in
                let isFile = !entry.isDirectory && !entry.isHidden
                statistics.add(
                    entry, format: isFile && !isQuick ? FileFormat.name(ofFile: entry.path, in: store) : nil)
                progress.count()
                return true
            }
            return statistics
        }
        if arguments.flag("json") { try Console.json(statistics.json) } else { Console.write(statistics.text) }
        return .done
    }
}

private struct CacheStatistics: Sendable {
    struct Count: Encodable {
        var files = 0
        var bytes = 0

        mutating func add(_ bytes: Int) {
            files += 1
            self.bytes += bytes
        }
    }

    private var usage = CacheUsage()
    private var formats: [String: Count] = [:]
    private var ages = [Count](repeating: Count(), count: ages.count)
    private let now = Timestamp.now

    private static let ages: [(name: String, seconds: Int)] = [
        ("hour", 3_600), ("day", 86_400), ("week", 604_800), ("month", 2_592_000), ("older", .max),
    ]

    mutating func add(_ entry: CacheEntry, format: String?) {
        usage.add(entry)
        guard !entry.isDirectory, !entry.isHidden else { return }
        if let format { formats[format, default: Count()].add(entry.size) }
        let age = now.seconds - entry.accessed.seconds
        let index = Self.ages.firstIndex { age <= $0.seconds } ?? Self.ages.count - 1
        ages[index].add(entry.size)
    }

    var json: JSONObject {
        [
            "files": usage.files, "entries": usage.entries, "bytes": usage.bytes, "allocated": usage.allocated,
            "formats": formats, "ages": Dictionary(zip(Self.ages.map(\.name), ages)) { first, _ in first },
            "oldestAccess": usage.oldestAccess?.seconds,
        ]
    }

    var text: String {
        var text = "\(usage.files) files, \(ByteCount(usage.bytes).text), \(ByteCount(usage.allocated).text) on disk\n"
        for (format, count) in formats.sorted(by: { $0.value.bytes > $1.value.bytes }) {
            text += "  \(format): \(count.files) files, \(ByteCount(count.bytes).text)\n"
        }
        for (age, count) in zip(Self.ages, ages) where count.files > 0 {
            let words = age.seconds == .max ? "not read for a month" : "read within the last \(age.name)"
            text += "  \(words): \(count.files) files, \(ByteCount(count.bytes).text)\n"
        }
        return text
    }
}
