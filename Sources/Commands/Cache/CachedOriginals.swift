import CommandLine
import Concurrency
import DiskCache
import ImageModel
import JobQueue
import Reports
import Terminal

/// Selects URLs whose original is cached but a variant missing, so that a worker needs no network.
struct CachedOriginals {
    private struct Counts {
        /// Originals to enqueue.
        var incomplete = 0
        var complete = 0
        /// Originals that the cache no longer has.
        var missing = 0

        var text: String {
            if incomplete > 0 {
                return
                    "\(incomplete) originals enqueued, \(complete) have every variant, \(missing) are no longer in the cache"
            }
            let seen = complete + missing
            if seen == 0 { return "nothing to enqueue: no original was stored" }
            return "nothing to enqueue: of \(seen.counted("original")) \(complete) have every variant"
                + (missing > 0 ? ", \(missing) are no longer in the cache" : "")
        }
    }

    static let option = Option(
        "from-cache", .value("BATCH"),
        "instead of URLs: the originals that BATCH, or 'all', stored and the cache still has")

    private let queue: PostgresJobQueue
    private let place: CachePlace
    private let variants: [Variant]

    /// The URLs for `--from-cache`; nil, with a message on standard error, if there are none.
    static func source(
        _ batch: String, _ arguments: Arguments, _ options: EnqueueOptions, _ queue: PostgresJobQueue
    ) async throws -> URLSource? {
        guard arguments.operandBytes.isEmpty, try arguments.value("from") == nil else {
            throw CommandError.usage("--from-cache cannot be combined with URLs or --from")
        }
        var variants = options.adHoc?.variants ?? []
        if options.adHoc == nil, let name = options.template.pipeline {
            variants = try Pipeline(json: try await queue.reports.pipeline(named: name).spec.utf8).variants
        }
        guard !variants.isEmpty else {
            throw CommandError.usage("--from-cache needs a --pipeline with variants, or a --variant")
        }
        let list = try OutputFile.scratch()
        let originals = CachedOriginals(queue: queue, place: try CachePlace(arguments), variants: variants)
        let counts = try await originals.write(of: batch, to: list)
        Console.note("larder: \(counts.text)")
        return counts.incomplete > 0 ? try URLSource(readingAll: list) : nil
    }

    /// Writes one URL per line.
    private func write(of source: String, to list: OutputFile) async throws -> Counts {
        var counts = Counts()
        var seen: Set<[UInt8]> = []
        let batches =
            source == "all"
            ? try await queue.reports.progress(limit: .max >> 1, isDetailed: false).map(\.id)
            : [try await queue.id(ofBatch: source)]
        for batch in batches {
            for try await record in BatchRecords(of: batch, in: queue) {
                // A key filter may have changed the key, so it is not always the URL.
                guard let original = record.stored.first(where: { $0.name == nil && $0.path != nil }) else { continue }
                guard seen.insert(Array(original.key.utf8)).inserted else { continue }
                switch try await isComplete(CacheKey(original.key)) {
                case nil: counts.missing += 1
                case true?: counts.complete += 1
                case false?:
                    counts.incomplete += 1
                    try list.write(record.url.utf8 + [UInt8(ascii: "\n")])
                }
            }
        }
        return counts
    }

    /// Whether the cache has every variant of an original; nil if it lacks the original.
    private func isComplete(_ original: CacheKey) async throws -> Bool? {
        try await place.disk.run { [store = place.store, variants] in
            func exists(_ key: CacheKey) throws -> Bool { try store.peek(key) != nil }
            guard try exists(original) else { return nil }
            return try variants.allSatisfy { variant in
                // A variant without a key is never stored.
                try store.naming.key(of: variant, from: original).map(exists) ?? true
            }
        }
    }
}
