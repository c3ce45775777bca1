import CommandLine
import ImageModel
import JobQueue
import Lists
import Reports
import Terminal

/// Enqueues all URLs of a source into one batch, 10,000 per call.
struct EnqueueStream {
    /// An item's answer and the batch's number; nil in a dry run.
    typealias Answered = (ListItem, EnqueueAnswer, Int64?) throws -> Void

    /// The open batch was filled from another list.
    private struct OtherList: Error { let error: CommandError }

    let queue: PostgresJobQueue
    let options: EnqueueOptions
    let bad: BadLines
    private var pipelines = KnownPipelines()
    private var appURLs: AppURLs
    /// Counts stored variants that differ, if set.
    private var recipes: StoredRecipes?
    /// Stored variants of the enqueued images made by another recipe.
    private(set) var differing = 0

    init(queue: PostgresJobQueue, options: EnqueueOptions, bad: BadLines) {
        self.queue = queue
        self.options = options
        self.bad = bad
        appURLs = options.appURLs
    }

    /// Enqueues everything in `source`, passes each answer to `answered`, and seals the batch.
    ///
    /// After an error or signal, an unnamed batch is sealed, because no command can add to it. A named batch stays
    /// open: the database records how much of the list is enqueued, and the same command continues there. The error
    /// message tells which. With `--next-run` and another list than the first run's, it is also sealed; otherwise it
    /// would refuse every later list.
    ///
    /// - Returns: the batch's number.
    mutating func all(
        from source: inout URLSource, priority: Int? = nil, leavingOpen: Bool = false, answered: Answered
    ) async throws -> Int64 {
        if let pipeline = options.adHoc {
            _ = try await queue.producer.setPipeline(name: pipeline.name, spec: pipeline.canonicalJSON)
        }
        var request = options.template
        request.priority = request.priority ?? priority
        let batch = try await openBatch(for: request)
        request.batchID = batch
        do {
            if let url = options.onFinished { try await queue.producer.setWebhook(of: .id(batch), to: url) }
            var lists: [String] = [], given: [String: Int] = [:]
            var count = 0
            repeat {
                request.source = nil
                if let list = source.list, request.batch != nil {
                    // A list given twice is enqueued twice.
                    let times = given[list, default: 0] + 1
                    given[list] = times
                    let name = times == 1 ? list : "\(list) (\(times))"
                    let done = try await skipEnqueued(of: name, in: batch, &source)
                    request.source = (name, done)
                    lists.append(name)
                    count += done
                }
                count += try await stream(&source, as: &request) { item, answer in try answered(item, answer, batch) }
                guard !source.wasStopped else { throw Self.stopped(at: source.line, of: source.list, count) }
            } while try await source.advance()
            if count == 0 { Console.note("larder: no URLs in \(options.origin)") }
            // Seals before deleting the list's progress, so that the same command in between finds a sealed batch and
            // does not enqueue the list again.
            if !leavingOpen { try await queue.producer.seal(.id(batch)) }
            for list in lists { try await queue.producer.endSource(list, batch: batch) }
            return batch
        } catch let other as OtherList where options.opensNextRun {
            try? await queue.producer.seal(.id(batch))
            throw other.error.adding("this run takes no further URLs; the same command opens the next one")
        } catch {
            let other = (error as? OtherList)?.error
            throw await (other ?? CommandError(error)).adding(stateAfterError(of: batch, continues: other == nil))
        }
    }

    /// Counts differing stored variants from now on.
    mutating func countDiffering() async throws {
        guard !options.remakes else { return }
        var variants = options.adHoc?.variants ?? []
        if options.adHoc == nil, let name = options.template.pipeline {
            variants = (try? Pipeline(json: try await queue.reports.pipeline(named: name).spec.utf8).variants) ?? []
        }
        recipes = try await StoredRecipes(of: variants, in: queue)
    }

    private func openBatch(for request: EnqueueRequest) async throws -> Int64 {
        do throws(QueueError) {
            return try await queue.producer.openBatch(
                name: request.batch, pipeline: request.pipeline, priority: request.priority, queue: request.queue,
                nextRun: options.opensNextRun)
        } catch {
            guard error.code == .batchClosed else { throw error }
            throw CommandError(error).adding(
                "it accepts no URLs until it is finished; 'enqueue --next-run' opens its next run meanwhile")
        }
    }

    /// Passes on the expected answers and changes nothing. A URL that joins one from an earlier call is answered
    /// `inserted`.
    mutating func rehearse(_ source: inout URLSource, answered: Answered) async throws {
        var request = options.template
        request.isDryRun = true
        request.spec = options.adHoc?.canonicalJSON
        repeat {
            _ = try await stream(&source, as: &request) { item, answer in try answered(item, answer, nil) }
            guard !source.wasStopped else { throw CommandError.larder(.other, "stopped by a signal") }
        } while try await source.advance()
    }

    /// Reads the next chunk and passes on the previous answers while the database handles a call.
    ///
    /// - Returns: the number of URLs.
    private mutating func stream(
        _ source: inout URLSource, as request: inout EnqueueRequest, answered: (ListItem, EnqueueAnswer) throws -> Void
    ) async throws -> Int {
        var done: (items: [ListItem], answers: [EnqueueAnswer]) = ([], [])
        var items = try await nextItems(EnqueueRequest.maxURLs, of: &source)
        var count = 0
        while !items.isEmpty {
            request.fill(items)
            let (queue, call) = (queue, request)
            async let answers = queue.producer.enqueue(call)
            // An error while reading or printing must not lose the current call's answers.
            let printed = Result { try zip(done.items, done.answers).forEach(answered) }
            var next: [ListItem] = []
            var failure: (any Error)?
            do { next = try await nextItems(EnqueueRequest.maxURLs, of: &source) } catch {
                failure = error
            }
            done = (items, try await answers)
            differing += try await recipes?.differing(call.urls) ?? 0
            try printed.get()
            count += items.count
            request.source?.from += items.count
            items = next
            if let failure {
                try zip(done.items, done.answers).forEach(answered)
                throw failure
            }
        }
        try zip(done.items, done.answers).forEach(answered)
        return count
    }

    private mutating func nextItems(_ count: Int, of source: inout URLSource) async throws -> [ListItem] {
        appURLs.apply(to: try await pipelines.next(count, of: &source, queue, bad))
    }

    /// Skips URLs enqueued by an earlier run and returns their count.
    ///
    /// - Throws: `OtherList` if the earlier run had another list.
    private mutating func skipEnqueued(of list: String, in batch: Int64, _ source: inout URLSource) async throws -> Int
    {
        guard let progress = try await queue.producer.sourceProgress(list, batch: batch) else { return 0 }
        var left = progress.urls
        var last: String?
        while left > 0 {
            let items = try await nextItems(min(left, EnqueueRequest.maxURLs), of: &source)
            if items.isEmpty { break }
            left -= items.count
            last = items.last?.url
        }
        guard left == 0, let last, last.unicodeScalars.prefix(8_192).elementsEqual(progress.lastURL.unicodeScalars)
        else {
            throw OtherList(
                error: .larder(
                    .file,
                    """
                    \(list) is not the list that the batch was filled from: URL \(progress.urls) of that list is \
                    '\(ShownURL.masked(progress.lastURL))'
                    """))
        }
        let origin = list == "-" ? "standard input" : list
        Console.note("larder: continuing after URL \(progress.urls) of \(origin), already enqueued")
        return progress.urls
    }

    private static func stopped(at line: Int, of list: String?, _ count: Int) -> CommandError {
        let place = list.map { " after line \(line) of \($0 == "-" ? "standard input" : $0)" } ?? ""
        return .larder(.other, "stopped by a signal\(place), \(count.counted("URL")) enqueued")
    }

    /// - Parameter continues: whether the same command can enqueue the rest.
    private func stateAfterError(of batch: Int64, continues: Bool) async -> String {
        if let name = options.template.batch {
            return "batch \(name) is open and contains the URLs enqueued before"
                + (continues ? "; the same command continues there" : "")
        }
        let isSealed = (try? await queue.producer.seal(.id(batch))) != nil
        return "batch \(batch) is \(isSealed ? "closed" : "open") and contains the URLs enqueued before"
    }
}

extension EnqueueRequest {
    fileprivate mutating func fill(_ items: [ListItem]) {
        urls = items.map(\.url)
        metas = items.contains { $0.meta != nil } ? items.map(\.meta) : []
        settings = items.contains { $0.settings != Settings() } ? items.map(\.settings) : []
    }
}

/// Drops list items with an unknown pipeline, since one would make the database refuse the call.
struct KnownPipelines {
    /// Whether each pipeline exists, by name.
    private var known: [String: Bool] = [:]
    /// All names, read when the first unknown one appears.
    private var names: [String]?

    /// Up to `count` items of the current list; empty at its end.
    mutating func next(
        _ count: Int, of source: inout URLSource, _ queue: PostgresJobQueue, _ bad: BadLines
    ) async throws -> [ListItem] {
        while true {
            let items = try await source.next(count)
            var good: [ListItem] = []
            good.reserveCapacity(items.count)
            for item in items {
                if let name = item.settings.pipeline, try await !exists(name, in: queue) {
                    if names == nil { names = await UnknownName.pipelines(in: queue) }
                    let near = NearestWord.question(name, among: names ?? [])
                    let line = BadLine(line: item.line, message: "unknown pipeline '\(name)'\(near)")
                    try bad.add(line, of: source.list ?? "")
                } else {
                    good.append(item)
                }
            }
            if !good.isEmpty || items.isEmpty { return good }
        }
    }

    private mutating func exists(_ name: String, in queue: PostgresJobQueue) async throws(QueueError) -> Bool {
        if let answer = known[name] { return answer }
        let answer: Bool
        do throws(QueueError) {
            _ = try await queue.reports.pipeline(named: name)
            answer = true
        } catch {
            guard error.code == .unknownPipeline else { throw error }
            answer = false
        }
        // A list with a million names must not fill the memory.
        if known.count < 10_000 { known[name] = answer }
        return answer
    }
}
