import Concurrency
import DiskCache

extension Command {
    static let cacheCopy = Command(
        words: ["cache", "copy"], operands: "FROM TO",
        summary: "Copy the files of one cache into another, directories or buckets",
        discussion: """
            FROM and TO are directories or s3://BUCKET/PREFIX. Files that TO has with the same bytes are skipped, so that an
            interrupted copy continues when it is run again. Files that TO has with other bytes stay, because they may be newer;
            --replace copies them. Access times of FROM do not change. The --s3 options apply to both.
            """,
        examples: ["larder cache copy /var/cache/larder /srv/larder-cache"],
        options: [
            Option("replace", "replace files of TO whose contents differ"),
            Option("parallel", .value("N"), "files copied at once, default 16"),
        ] + CachePlace.options.filter { $0.name != "cache" }
    ) { arguments in
        let operands = try arguments.operands()
        guard operands.count == 2, operands.allSatisfy({ !$0.isEmpty }) else {
            throw CommandError.usage("cache copy: FROM and TO are required")
        }
        let width = try arguments.number("parallel", in: 1...256) ?? 16
        let source = try CachePlace(arguments, root: operands[0])
        let destination = try await CachePlace.created(arguments, root: operands[1])
        let copy = StoreCopy(from: source.store, to: destination, replacing: arguments.flag("replace"))
        var counts = CopyCounts()
        let files = EntryStream(source)
        let pool = ThreadPool(name: "copy", threads: width)
        var progress = WalkProgress("files copied", of: await source.total())
        try await withThrowingTaskGroup(of: (CacheEntry, StoreCopy.Outcome).self) { group in
            var running = 0
            for try await entry in files.entries {
                files.taken()
                if running == width, let (entry, outcome) = try await group.next() {
                    running -= 1
                    counts.add(entry, outcome)
                    progress.count()
                }
                running += 1
                group.addTask {
                    let outcome = try await pool.run { () throws(StoreError) in
                        try copy.copy(entry.path, size: entry.size)
                    }
                    return (entry, outcome)
                }
            }
            for try await (entry, outcome) in group {
                counts.add(entry, outcome)
                progress.count()
            }
        }
        progress.end()
        try Console.show(counts, arguments, counts.text)
        return .done
    }
}

private struct CopyCounts: Encodable {
    private(set) var copied = 0, bytes = 0, present = 0, kept = 0, vanished = 0

    mutating func add(_ entry: CacheEntry, _ outcome: StoreCopy.Outcome) {
        switch outcome {
        case .copied:
            copied += 1
            bytes += entry.size
        case .present: present += 1
        case .kept: kept += 1
        case .vanished: vanished += 1
        }
    }

    var text: String {
        "\(copied.counted("file")) copied, \(ByteCount(bytes).text); \(present) were already there"
            + (kept > 0 ? "; \(kept) with other contents were kept, see --replace" : "")
            + (vanished > 0 ? "; \(vanished) vanished meanwhile" : "")
    }
}
