import CommandLine
import Concurrency
import DiskCache
import Reports
import Terminal

extension Command {
    static let cacheCopy = Command(
        words: ["cache", "copy"], operands: "FROM TO",
        summary: "Copy the files of one cache into another, directories or buckets",
        discussion: """
            FROM and TO are directories or s3://BUCKET/PREFIX. Files that TO has with the same bytes are skipped, so that an
            interrupted copy continues when it is run again. Files that TO has with other bytes stay, because they may be newer;
            --replace copies them. Files with a name that no cache key has are reported and left out. A file that cannot be read
            or stored is reported and the others are copied; the exit code is then 1. What concerns every file, such as a full
            disk, ends the command. Access times of FROM do not change. The --s3 options apply to both.
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
        let files = EntryStream(source)
        let pool = ThreadPool(name: "copy", threads: width)
        var tally = CopyTally(source, WalkProgress("files copied", of: await source.total()))
        try await withThrowingTaskGroup(of: (CacheEntry, Result<StoreCopy.Outcome, StoreError>).self) { group in
            var running = 0
            for try await entry in files.entries {
                files.taken()
                if running == width, let (entry, result) = try await group.next() {
                    running -= 1
                    try tally.add(entry, result)
                }
                running += 1
                group.addTask {
                    let result = await pool.run { () -> Result<StoreCopy.Outcome, StoreError> in
                        Result { () throws(StoreError) in try copy.copy(entry.path, size: entry.size) }
                    }
                    return (entry, result)
                }
            }
            for try await (entry, result) in group { try tally.add(entry, result) }
        }
        tally.end()
        let counts = tally.counts
        try Console.show(counts, arguments, counts.text)
        return counts.failed == 0 ? .done : .failed
    }
}

/// Counts the files of a copy, and reports uncopied ones.
private struct CopyTally {
    private(set) var counts = CopyCounts()
    private let source: CachePlace
    private var progress: WalkProgress
    private var failures = CopyFailures()

    init(_ source: CachePlace, _ progress: WalkProgress) {
        self.source = source
        self.progress = progress
    }

    /// - Throws: the `StoreError` that ends the copy.
    mutating func add(_ entry: CacheEntry, _ result: Result<StoreCopy.Outcome, StoreError>) throws(StoreError) {
        try failures.add(result)
        counts.add(entry, result)
        switch result {
        case .success(.stray): note(entry, "no cache key has this name")
        case .success: break
        case .failure(let error): note(entry, "\(error)")
        }
        progress.count()
    }

    mutating func end() { progress.end() }

    private func note(_ entry: CacheEntry, _ reason: String) {
        Console.note(PrintableText.text("larder: not copied: \(source.location(of: entry.path)): \(reason)"))
    }
}

private struct CopyCounts: Encodable {
    private(set) var copied = 0, bytes = 0, present = 0, kept = 0, vanished = 0, stray = 0, failed = 0

    mutating func add(_ entry: CacheEntry, _ result: Result<StoreCopy.Outcome, StoreError>) {
        switch result {
        case .success(.copied):
            copied += 1
            bytes += entry.size
        case .success(.present): present += 1
        case .success(.kept): kept += 1
        case .success(.vanished): vanished += 1
        case .success(.stray): stray += 1
        case .failure: failed += 1
        }
    }

    var text: String {
        "\(copied.counted("file")) copied, \(ByteCount(bytes).text); \(present) were already there"
            + (kept > 0 ? "; \(kept) with other contents were kept, see --replace" : "")
            + (vanished > 0 ? "; \(vanished) vanished meanwhile" : "")
            + (stray > 0 ? "; \(stray) left out, whose name no cache key has" : "")
            + (failed > 0 ? "; \(failed) failed" : "")
    }
}
