import CommandLine
import Concurrency
import DiskCache
import ImageModel
import JobQueue
import Reports
import Terminal

extension Command {
    static let cacheRemove = Command(
        words: ["cache", "remove"], also: ["cache clear": "--all"], operands: "[URL]...",
        summary: "Delete the original and every variant of URLs, of a batch's images, or all images",
        discussion: """
            The variants of a URL are the variants of all pipelines in the database; with --variant only the given ones,
            and no database is used. --batch deletes the files in the records of the batch, also those that were in the cache
            before. --all deletes every image; files that a worker is writing or stores later remain. Files of
            --fallback-cache remain. A directory that Larder never stored to is refused.
            """,
        examples: [
            "larder cache remove https://example.com/a.jpg --dry-run", "larder cache remove --batch spring --yes",
            "larder cache remove https://example.com/a.jpg --variant thumb=200x200 --yes",
            "larder cache remove --all --dry-run",
        ],
        options: CachePlace.options + [
            Option("batch", .value("BATCH"), "instead of URLs: the images of this batch"),
            Option("all", "instead of URLs: every image of the cache"),
            VariantJSON.option("with URLs, a variant in place of the pipelines'; repeatable"), AppURLs.option,
            Option("dry-run", "delete nothing, print what would be deleted"), Confirmation.option,
            Settings.databaseOption,
        ]
    ) { arguments in
        let urls = try arguments.operands()
        let batch = try arguments.value("batch")
        let variants = try VariantJSON.variants(try arguments.list("variant"))
        let isAll = arguments.isGiven("all")
        guard [!urls.isEmpty, batch != nil, isAll].count(where: { $0 }) == 1 else {
            throw CommandError.usage("cache remove: either URLs, --batch or --all are required")
        }
        guard !urls.isEmpty || variants.isEmpty else {
            throw CommandError.usage("cache remove: --variant is for URLs; a batch has the files of its records")
        }
        if isAll { return try await clearCache(arguments) }
        let place = try await CachePlace(ofOwn: arguments)
        var removal = CacheRemoval(place, isDryRun: arguments.flag("dry-run"))
        let images = batch.map { "the images of batch \($0)" } ?? "the images of \(urls.count.counted("URL"))"
        func confirm() throws(CommandError) {
            guard !removal.isDryRun else { return }
            try Confirmation.ask("delete \(images) in \(place.title)", arguments, of: "cache remove")
        }
        if let batch {
            let queue = try await Settings(arguments).openQueue()
            let id = try await queue.id(ofBatch: batch)
            try confirm()
            for try await record in BatchRecords(of: id, in: queue) {
                try await removal.remove(record.stored.map { CacheKey($0.key) })
            }
        } else {
            let keys = try await VariantKeys(variants, of: place.store.naming, arguments)
            try confirm()
            var app = try AppURLs(arguments)
            for url in urls { try await removal.remove(keys.all(of: app.url(url))) }
        }
        let verb = removal.isDryRun ? "would be deleted" : "deleted"
        try Console.show(
            ["deleted": removal.files, "deletedBytes": removal.bytes, "dryRun": removal.isDryRun], arguments,
            "\(removal.files.counted("file")) \(verb), \(ByteCount(removal.bytes).text)")
        return .done
    }
}

/// Deletes and counts the files of keys.
private struct CacheRemoval {
    let isDryRun: Bool
    private(set) var files = 0
    private(set) var bytes = 0
    private let place: CachePlace
    /// Keys already looked up, byte by byte: several records may share a file.
    private var seen: Set<[UInt8]> = []

    init(_ place: CachePlace, isDryRun: Bool) { (self.place, self.isDryRun) = (place, isDryRun) }

    mutating func remove(_ keys: [CacheKey]) async throws {
        let new = keys.filter { seen.insert(Array($0.text.utf8)).inserted }
        let sizes = try await place.disk.run { [store = place.store, isDryRun] () throws(StoreError) in
            var sizes: [Int] = []
            for key in new { sizes += try store.remove(key, isDryRun: isDryRun) }
            return sizes
        }
        files += sizes.count
        bytes += sizes.reduce(0, +)
    }
}

/// The keys under which a URL's images may be stored.
private struct VariantKeys {
    private let naming: any CacheNaming
    /// Variant suffixes by the rule for the original's key; nil is the URL itself.
    private var suffixes: [CacheKeyRule?: Set<[String]>] = [nil: []]

    /// - Parameter variants: if empty, the variants of all pipelines in the database.
    init(_ variants: [Variant], of naming: any CacheNaming, _ arguments: Arguments) async throws {
        self.naming = naming
        guard variants.isEmpty else {
            for variant in variants { suffixes[nil, default: []].insert(try naming.suffixes(of: variant)) }
            return
        }
        let queue: PostgresJobQueue
        do { queue = try await Settings(arguments).openQueue() } catch {
            throw CommandError(error).adding("--variant names the variants without a database")
        }
        for stored in try await queue.reports.recentPipelines(limit: .max) {
            // SQL stores any JSON.
            guard let pipeline = try? Pipeline(json: stored.spec.utf8) else { continue }
            // A library that makes no such image stores none.
            let added = pipeline.variants.compactMap { try? naming.suffixes(of: $0) }
            suffixes[pipeline.cacheKey, default: []].formUnion(added)
        }
        await queue.close()
    }

    func all(of url: String) -> [CacheKey] {
        suffixes.flatMap { rule, suffixes in
            let original = CacheKey(rule?.key(of: url) ?? url)
            return [original] + suffixes.compactMap { naming.variantKey(of: original, suffixes: $0) }
        }
    }
}

extension Command {
    /// Deletes every image and prints the number.
    static func clearCache(_ arguments: Arguments) async throws -> ExitCode {
        let place = try await CachePlace(ofOwn: arguments)
        let isDryRun = arguments.flag("dry-run")
        if !isDryRun {
            try Confirmation.ask("delete every image of \(place.title)", arguments, of: "cache remove")
        }
        let total = await place.total()
        let (deleted, bytes) = try await place.disk.run { [store = place.store] in
            var (deleted, bytes) = (0, 0)
            var progress = WalkProgress(isDryRun ? "files seen" : "files deleted", of: total)
            defer { progress.end() }
            try store.clear(isDryRun: isDryRun) { entry in
                deleted += 1
                bytes += entry.allocated
                progress.count()
            }
            return (deleted, bytes)
        }
        let verb = isDryRun ? "would be deleted" : "deleted"
        try Console.show(
            ["deleted": deleted, "deletedBytes": bytes, "dryRun": isDryRun], arguments,
            "\(deleted.counted("file")) \(verb), \(ByteCount(bytes).text)")
        return .done
    }
}
