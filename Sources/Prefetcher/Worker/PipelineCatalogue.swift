internal import JobQueue
internal import Transcoder

/// The pipelines a worker has met, kept once read: a version never changes.
actor PipelineCatalogue {
    private let queue: PostgresJobQueue
    private var known: [Int: Result<Pipeline, FailureReason>] = [:]

    /// More than so many at once are forgotten and read again when met.
    private static let most = 256

    init(queue: PostgresJobQueue) { self.queue = queue }

    /// The pipeline's variants, or why this program cannot make them.
    ///
    /// A database that is away is asked again until it answers or the task is cancelled.
    ///
    /// - Throws: `QueueError` that waiting does not mend, or the last one when cancelled.
    func pipeline(_ id: Int) async throws(QueueError) -> Result<Pipeline, FailureReason> {
        if let result = known[id] { return result }
        let version = try await read(id)
        let result: Result<Pipeline, FailureReason>
        do throws(VariantError) {
            let pipeline = try Pipeline(json: version.spec.utf8)
            try pipeline.validateSupported()
            result = .success(pipeline)
        } catch {
            result = .failure(
                FailureReason(
                    domain: "LarderErrorDomain", code: 401,
                    message: "pipeline \(version.name) version \(version.version): \(error)"))
        }
        if known.count >= Self.most { known.removeAll() }
        known[id] = result
        return result
    }

    private func read(_ id: Int) async throws(QueueError) -> PipelineVersion {
        while true {
            do throws(QueueError) {
                return try await queue.pipeline(id: id)
            } catch {
                guard error.isTransient, !Task.isCancelled else { throw error }
                try? await Task.sleep(for: Settler.pause)
            }
        }
    }
}
