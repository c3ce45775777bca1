import ImageModel
import JobQueue

/// Puts all URLs of a source into one batch, 10,000 per call.
struct EnqueueStream {
    let queue: PostgresJobQueue
    let options: EnqueueOptions

    /// Enqueues everything in `source`, passes each answer to `answered`, and seals the batch.
    ///
    /// After an error a batch without a name is sealed, because no command can add to it. A batch with a name stays
    /// open: the database has recorded how much of the list is enqueued, and the same command continues there. The
    /// error message states which.
    ///
    /// - Returns: the number of the batch.
    func all(
        from source: inout URLSource, priority: Int? = nil, leavingOpen: Bool = false,
        answered: (String, EnqueueAnswer, Int64) throws -> Void
    ) async throws -> Int64 {
        if let pipeline = options.adHoc {
            _ = try await queue.setPipeline(name: pipeline.name, spec: pipeline.canonicalJSON)
        }
        var request = options.template
        request.priority = request.priority ?? priority
        let batch = try await queue.openBatch(
            name: request.batch, pipeline: request.pipeline, priority: request.priority, queue: request.queue)
        request.batchID = batch
        do {
            if let list = source.list, request.batch != nil {
                let done = try await skipEnqueued(of: list, in: batch, &source)
                request.source = EnqueueRequest.Source(name: list, from: done)
            }
            try await stream(&source, as: &request) { url, answer in try answered(url, answer, batch) }
            // Seals before the list's progress is deleted: the same command in between finds a sealed batch and does
            // not enqueue the list again.
            if !leavingOpen { try await queue.seal(.id(batch)) }
            if let list = request.source { try await queue.endSource(list.name, batch: batch) }
            return batch
        } catch {
            throw await CommandError(error).adding(stateAfterError(of: batch))
        }
    }

    /// While the database handles one call, the next chunk is read and the previous answers are passed on.
    private func stream(
        _ source: inout URLSource, as request: inout EnqueueRequest, answered: (String, EnqueueAnswer) throws -> Void
    ) async throws {
        var done: (urls: [String], answers: [EnqueueAnswer]) = ([], [])
        request.urls = try await source.next(EnqueueRequest.maxURLs)
        if request.urls.isEmpty && (request.source?.from ?? 0) == 0 {
            Console.note("larder: no URLs in \(options.origin)")
        }
        while !request.urls.isEmpty {
            async let answers = queue.enqueue(request)
            // An error while reading or printing must not lose the answers of the call that is under way.
            let printed = Result { try zip(done.urls, done.answers).forEach(answered) }
            var next: [String] = []
            var failure: CommandError?
            do throws(CommandError) { next = try await source.next(EnqueueRequest.maxURLs) } catch { failure = error }
            done = (request.urls, try await answers)
            try printed.get()
            request.source?.from += request.urls.count
            request.urls = next
            if let failure {
                try zip(done.urls, done.answers).forEach(answered)
                throw failure
            }
        }
        try zip(done.urls, done.answers).forEach(answered)
    }

    /// Skips the URLs that an earlier run has enqueued and returns their count.
    ///
    /// - Throws: when the list is another one than the earlier run's.
    private func skipEnqueued(of list: String, in batch: Int64, _ source: inout URLSource) async throws -> Int {
        guard let progress = try await queue.progress(ofSource: list, batch: batch) else { return 0 }
        var left = progress.urls
        var last: String?
        while left > 0 {
            let urls = try await source.next(min(left, EnqueueRequest.maxURLs))
            if urls.isEmpty { break }
            left -= urls.count
            last = urls.last
        }
        guard left == 0, let last, last.unicodeScalars.prefix(8_192).elementsEqual(progress.lastURL.unicodeScalars)
        else {
            throw CommandError.larder(
                .file,
                """
                \(list) is not the list that the batch was filled from: URL \(progress.urls) of that list is \
                '\(ShownURL.text(progress.lastURL))'
                """)
        }
        Console.note("larder: continuing after URL \(progress.urls) of \(options.origin), already enqueued")
        return progress.urls
    }

    private func stateAfterError(of batch: Int64) async -> String {
        if let name = options.template.batch {
            return "batch \(name) is open and contains the URLs enqueued before; the same command continues there"
        }
        let isSealed = (try? await queue.seal(.id(batch))) != nil
        return "batch \(batch) is \(isSealed ? "sealed" : "open") and contains the URLs enqueued before"
    }
}
