import CommandLine
import Concurrency
import DiskCache
import ImageModel
import JobQueue
import Reports
import Terminal

/// Writes one variant's files of a batch as a YYCache. Images get their original's key, as YYWebImage stores transform
/// results under the URL's key.
struct YYCacheExport {
    let queue: PostgresJobQueue
    let place: CachePlace
    /// Nil for the original.
    let variant: String?

    struct Counts {
        var stored = 0
        /// Images missing in the cache or changed since.
        var missing = 0
    }

    /// - Throws: errors of the queue, a `CommandError` if there is no image, and `StoreError`, `exists` if `output`
    ///   exists.
    func write(_ batch: Int64, to output: String) async throws -> Counts {
        var files: [(key: CacheKey, file: StoredFile)] = []
        var seen: Set<CacheKey> = []
        for try await record in BatchRecords(of: batch, in: queue) {
            guard let file = record.stored.first(where: { $0.name == variant && $0.path != nil }) else { continue }
            let key = CacheKey(record.stored.first { $0.name == nil }?.key ?? record.url)
            guard seen.insert(key).inserted else { continue }
            files.append((key, file))
        }
        guard !files.isEmpty else {
            throw CommandError.larder(
                .file, "the batch has stored nothing as \(variant.map { "variant \($0)" } ?? "original")")
        }
        return try await place.disk.run { [store = place.store, files] () throws(StoreError) in
            let writer = try YYCacheWriter(output)
            var counts = Counts()
            for (key, recorded) in files {
                guard let file = try RecordedFile(recorded, in: store).noted(recorded.key) else {
                    counts.missing += 1
                    continue
                }
                try writer.add(file, as: key)
                counts.stored += 1
            }
            try writer.finish()
            return counts
        }
    }
}

extension Command {
    /// `cache export --as yycache`.
    static func exportYYCache(of name: String, _ arguments: Arguments) async throws -> ExitCode {
        guard let output = try arguments.value("output"), output != OutputFile.standard else {
            throw CommandError.usage("cache export --as yycache needs --output with a directory")
        }
        guard !arguments.flag("manifest-only") else {
            throw CommandError.usage("cache export --as yycache has no --manifest-only")
        }
        let place = try CachePlace(ofExisting: arguments)
        let queue = try await Settings(arguments).openQueue()
        let variant = try arguments.value("variant")
        let export = YYCacheExport(queue: queue, place: place, variant: variant)
        let counts = try await export.write(try await queue.id(ofBatch: name), to: output)
        try Console.show(
            ["stored": counts.stored, "missing": counts.missing], arguments,
            "\(counts.stored.counted("image"))"
                + (counts.missing > 0 ? "; \(counts.missing) no longer in the cache or changed" : ""))
        return counts.missing == 0 ? .done : .failed
    }
}
