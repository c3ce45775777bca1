import ImageModel
import JobQueue
import Transcoder

/// Streams URLs into one batch.
struct Enqueuing {
    let queue: PostgresJobQueue
    let options: EnqueueOptions

    /// Enqueues everything of `source`, a call per 10,000, hands each answer on, and seals the batch.
    ///
    /// While the database has one call, the next is read and the answers of the one before are handed on.
    ///
    /// A batch that could not be filled to the end is sealed when it has no name, because nobody could add to it; one
    /// with a name stays open. The database counts with each call how much of a list is in such a batch: the same
    /// command given again goes on behind it. The error says which.
    ///
    /// - Returns: the batch.
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
                request.source = EnqueueRequest.Source(
                    name: list, from: try await skipDone(of: list, in: batch, &source))
            }
            try await stream(&source, as: &request) { url, answer in try answered(url, answer, batch) }
            // Sealed first: between the two the same command given again must find the batch closed, not the list new.
            if !leavingOpen { try await queue.seal(.id(batch)) }
            if let list = request.source { try await queue.endSource(list.name, batch: batch) }
            return batch
        } catch {
            throw await CommandError(error).adding(fate(of: batch))
        }
    }

    private func stream(
        _ source: inout URLSource, as request: inout EnqueueRequest, answered: (String, EnqueueAnswer) throws -> Void
    ) async throws {
        var done: (urls: [String], answers: [EnqueueAnswer])?
        request.urls = try await source.next(EnqueueRequest.mostURLs)
        if request.urls.isEmpty && (request.source?.from ?? 0) == 0 {
            Console.note("larder: no URLs in \(options.origin)")
        }
        while !request.urls.isEmpty {
            async let answers = queue.enqueue(request)
            // What goes wrong meanwhile must not keep the answers of this call from being told.
            let told = Result { if let done { try zip(done.urls, done.answers).forEach(answered) } }
            let next: Result<[String], CommandError>
            do throws(CommandError) {
                next = .success(try await source.next(EnqueueRequest.mostURLs))
            } catch { next = .failure(error) }
            done = (request.urls, try await answers)
            try told.get()
            request.source?.from += request.urls.count
            guard case .success(let urls) = next else {
                if let done { try zip(done.urls, done.answers).forEach(answered) }
                _ = try next.get()
                return
            }
            request.urls = urls
        }
        if let done { try zip(done.urls, done.answers).forEach(answered) }
    }

    /// Skips what an earlier run has put in. Returns how many URLs that were.
    ///
    /// - Throws: when the list is not the one that was being put in.
    private func skipDone(of list: String, in batch: Int64, _ source: inout URLSource) async throws -> Int {
        guard let progress = try await queue.progress(ofSource: list, batch: batch) else { return 0 }
        var left = progress.urls
        var last: String?
        while left > 0 {
            let urls = try await source.next(min(left, EnqueueRequest.mostURLs))
            if urls.isEmpty { break }
            left -= urls.count
            last = urls.last
        }
        guard left == 0, let last, last.unicodeScalars.prefix(8_192).elementsEqual(progress.lastURL.unicodeScalars)
        else {
            throw CommandError.larder(
                6,
                """
                \(list) is not the list that the batch was being filled from: its URL \(progress.urls) was \
                '\(ShownURL.text(progress.lastURL))'
                """)
        }
        Console.note("larder: going on behind URL \(progress.urls) of \(options.origin), which are in already")
        return progress.urls
    }

    /// What becomes of a batch that was not filled to the end.
    private func fate(of batch: Int64) async -> String {
        if let name = options.template.batch {
            return "batch \(name) is open and holds what was enqueued before; the same command goes on from there"
        }
        do {
            try await queue.seal(.id(batch))
            return "batch \(batch) is sealed and holds what was enqueued before"
        } catch {
            return "batch \(batch) is open and holds what was enqueued before"
        }
    }
}
