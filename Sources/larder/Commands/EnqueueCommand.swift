import DiskCache
import ImageModel
import JobQueue

extension Command {
    static let enqueue = Command(
        words: ["enqueue"], operands: "[URL]...",
        summary: "Put URLs in the queue",
        discussion: """
            Each URL is answered: inserted, joined (a live job for it takes this item along), fresh, blocked or invalid.
            With --json one line per URL. A URL that is blocked or invalid is a failed item and never stops the others;
            the exit code is then 1. The batch is sealed at the end, so that it can finish, unless --open is given. When
            --from with --batch NAME broke off, the same command goes on where it was and counts nothing twice.
            """,
        examples: [
            "larder enqueue https://example.com/a.jpg --batch spring",
            "larder enqueue --from urls.txt --batch nightly --fresh-for 1d",
        ],
        options: EnqueueOptions.options(priority: 4) + [
            Option("at", .value("TIME"), "start at this time (2026-11-21T18:00:00Z) or after a delay (+10m)"),
            Option("open", "leave the batch open for more"),
            Option(
                "fresh-for", .value("DURATION"), "answer 'fresh' for what the cache was given so lately; default: never"
            ),
            Option(
                "cache", .value("DIR"),
                "the cache that --fresh-for and --from-cache ask about, never made; default: the only one workers fill"
            ),
            CachedOriginals.option,
            Settings.databaseOption,
        ]
    ) { arguments in
        let json = arguments.flag("json")
        var options = try EnqueueOptions(arguments)
        options.template.freshFor = try arguments.duration("fresh-for")
        if options.template.freshFor != nil, let root = try arguments.value("cache") {
            if let cache = try Settings.existingCache(root) {
                options.template.cacheID = try cache.cacheID
            } else {
                Console.note("larder: --cache: there is no cache in \(root) yet, so nothing is fresh")
                options.template.freshFor = nil
            }
        }
        let cached = try arguments.value(CachedOriginals.option.name)
        var source = cached == nil ? try await URLSource(arguments, command: "enqueue") : URLSource()
        let queue = try await Settings(arguments).openQueue()
        if let cached {
            // A batch without items would only be in the way.
            guard let found = try await CachedOriginals.source(cached, arguments, options, queue) else { return .done }
            source = found
        }
        var totals: [String: Int] = [:]
        var count = 0
        let name = options.template.batch
        let batch = try await Enqueuing(queue: queue, options: options).all(
            from: &source, leavingOpen: arguments.flag("open")
        ) { url, answer, batch in
            totals[answer.kind.rawValue, default: 0] += 1
            count += 1
            if json {
                try Console.json(EnqueueLine(url: url, name: name, batch: batch, answer))
            } else if let error = answer.error {
                Console.note("larder: \(FailureLine.text(url, error))")
            }
        }
        if !json {
            let parts = totals.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }
            Console.line(
                "batch \(BatchProgress.title(name, batch)): \(count.counted("URL"))"
                    + (parts.isEmpty ? "" : ": " + parts.joined(separator: ", ")))
        }
        return totals["blocked"] == nil && totals["invalid"] == nil ? .done : .failed
    }
}

/// What became of one URL, as `enqueue --json` prints it.
private struct EnqueueLine: Encodable {
    let url: String
    let batch: String
    let batchID: Int64
    let answer: String
    let job: Nullable<Int64>
    let error: Nullable<FailureReason>

    init(url: String, name: String?, batch: Int64, _ answer: EnqueueAnswer) {
        self.url = ShownURL.text(url)
        self.batch = name ?? "\(batch)"
        batchID = batch
        self.answer = answer.kind.rawValue
        job = Nullable(answer.job)
        error = Nullable(answer.error)
    }
}
