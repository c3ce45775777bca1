import Concurrency
import DiskCache
import ImageModel
import JobQueue
import Prefetcher
import Transcoder

/// The URLs whose originals lie in the cache, and some variants do not: what a new pipeline can make without the network.
struct CachedOriginals {
    /// What was looked at.
    struct Counts {
        /// To be enqueued.
        var wanted = 0
        /// Everything is there already.
        var complete = 0
        /// The original is no longer there.
        var gone = 0

        var text: String {
            "\(wanted) originals to work on, \(complete) have everything, \(gone) are no longer in the cache"
        }

        /// What to say when there is nothing to do.
        var idleText: String {
            let seen = complete + gone
            if seen == 0 { return "nothing to enqueue: no original was stored" }
            return "nothing to enqueue: of \(seen.counted("original")) \(complete) have every variant"
                + (gone > 0 ? ", \(gone) are no longer in the cache" : "")
        }
    }

    private struct Original {
        let url: String
        let key: CacheKey
    }

    let queue: PostgresJobQueue
    let place: CachePlace
    let variants: [Variant]

    static let option = Option(
        "from-cache", .value("BATCH"),
        "instead of URLs: the originals that BATCH, or 'all', stored and the cache still has")

    /// Writes the URLs to `list`, one a line.
    ///
    /// - Parameter source: a batch by name or number, or `all`.
    func write(of source: String, to list: OutputFile) async throws -> Counts {
        var counts = Counts()
        var seen: Set<String> = []
        for batch in try await batches(source) {
            var cursor = Cursor.start
            while true {
                let records = try await queue.records(of: batch, after: cursor)
                guard let last = records.last else { break }
                cursor = last.cursor
                let originals = records.compactMap { record in
                    // Under the key that a filter may have made of its URL.
                    record.stored.first { $0.name == nil && $0.path != nil }
                        .map { Original(url: record.url, key: CacheKey($0.key)) }
                }
                let new = originals.filter { seen.insert($0.key.fileName).inserted }
                try list.write(try await wanted(new, &counts))
            }
        }
        return counts
    }

    private func batches(_ source: String) async throws -> [Int64] {
        guard source == "all" else { return [try await queue.progress(of: try await queue.batch(called: source)).id] }
        return try await queue.progress(limit: .max >> 1, isDetailed: false).map(\.id)
    }

    /// The lines of those that there is something to do for.
    private func wanted(_ originals: [Original], _ counts: inout Counts) async throws -> [UInt8] {
        let found = try await place.disk.run { [layout = place.layout, variants] in
            try originals.map { original in
                guard try layout.peek(original.key.fileName) != nil else { return (original.url, Optional<Bool>.none) }
                let isComplete = try variants.allSatisfy { variant in
                    // A variant without a key is never stored.
                    guard let key = original.key.appending(variant.keySuffixes) else { return true }
                    return try layout.peek(key.fileName) != nil
                }
                return (original.url, isComplete)
            }
        }
        var lines: [UInt8] = []
        for (url, isComplete) in found {
            switch isComplete {
            case nil: counts.gone += 1
            case true?: counts.complete += 1
            case false?:
                counts.wanted += 1
                lines += url.utf8
                lines.append(UInt8(ascii: "\n"))
            }
        }
        return lines
    }
}

extension CachedOriginals {
    /// The URLs of `--from-cache`; nil, and said so, when there is nothing to make.
    static func source(
        _ batch: String, _ arguments: Arguments, _ options: EnqueueOptions, _ queue: PostgresJobQueue
    ) async throws -> URLSource? {
        guard arguments.operandBytes.isEmpty, try arguments.value("from") == nil else {
            throw CommandError.usage("--from-cache takes the place of URLs and of --from")
        }
        var variants = options.adHoc?.variants ?? []
        if options.adHoc == nil, let name = options.template.pipeline {
            variants = try Pipeline(json: try await queue.pipeline(named: name).spec.utf8).variants
        }
        guard !variants.isEmpty else {
            throw CommandError.usage(
                "--from-cache: for which variants? Name a --pipeline that has some, or a --variant")
        }
        let list = try OutputFile.scratch()
        let counts = try await CachedOriginals(
            queue: queue, place: try CachePlace(arguments), variants: variants
        ).write(of: batch, to: list)
        guard counts.wanted > 0 else {
            Console.note("larder: \(counts.idleText)")
            return nil
        }
        Console.note("larder: \(counts.text)")
        return try URLSource(readingAll: list)
    }
}
