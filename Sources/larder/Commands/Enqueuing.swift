import JobQueue
import Transcoder

/// Streams URLs into one batch.
struct Enqueuing {
    let queue: PostgresJobQueue
    let options: EnqueueOptions

    /// Enqueues everything of `source`, a call per 10,000, hands each answer on, and seals the batch.
    ///
    /// A batch that could not be filled to the end is sealed when it has no name, because nobody could add to it; one
    /// with a name stays open, so that the same command may be given again. The error says which.
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
            var isEmpty = true
            while true {
                request.urls = try source.next(EnqueueRequest.mostURLs)
                if request.urls.isEmpty { break }
                isEmpty = false
                for (url, answer) in zip(request.urls, try await queue.enqueue(request)) {
                    try answered(url, answer, batch)
                }
            }
            if isEmpty { Console.note("larder: no URLs in \(options.origin)") }
            if !leavingOpen { try await queue.seal(.id(batch)) }
            return batch
        } catch {
            throw await CommandError(error).adding(fate(of: batch))
        }
    }

    /// What becomes of a batch that was not filled to the end.
    private func fate(of batch: Int64) async -> String {
        if let name = options.template.batch { return "batch \(name) is open and holds what was enqueued before" }
        do {
            try await queue.seal(.id(batch))
            return "batch \(batch) is sealed and holds what was enqueued before"
        } catch {
            return "batch \(batch) is open and holds what was enqueued before"
        }
    }
}
