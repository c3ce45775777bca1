internal import Concurrency
internal import ImageModel
internal import JobQueue

/// Pipeline versions read by a worker. A version never changes, so entries never expire.
actor PipelineCache {
    typealias Read = @Sendable (Int) async throws(QueueError) -> PipelineVersion

    private typealias Answer = Result<Pipeline, FailureReason>

    private let read: Read
    private var known: [Int: Answer] = [:]
    private let reads = SingleFlight<Int, Result<Answer, QueueError>>()

    private static let limit = 256

    init(queue: any WorkerQueue) {
        self.init { id throws(QueueError) in try await queue.pipeline(id: id) }
    }

    init(read: @escaping Read) { self.read = read }

    /// The pipeline, or the reason why this program cannot make its variants. Waits while the database is unavailable.
    ///
    /// - Throws: an error that is not transient, or the last error if the task is cancelled.
    func pipeline(_ id: Int) async throws(QueueError) -> Result<Pipeline, FailureReason> {
        if let answer = known[id] { return answer }
        let answer = await reads.run(id) { await add(id) }
        guard let answer else { throw QueueError(.unreachable, "cancelled while waiting for a pipeline") }
        return try answer.get()
    }

    private func add(_ id: Int) async -> Result<Answer, QueueError> {
        if let answer = known[id] { return .success(answer) }
        do throws(QueueError) {
            let answer = Self.parse(try await readWhenAvailable(id))
            if known.count >= Self.limit { known.removeAll() }
            known[id] = answer
            return .success(answer)
        } catch {
            return .failure(error)
        }
    }

    private func readWhenAvailable(_ id: Int) async throws(QueueError) -> PipelineVersion {
        while true {
            do throws(QueueError) {
                return try await read(id)
            } catch {
                guard error.isTransient, !Task.isCancelled else { throw error }
                try? await Task.sleep(for: WorkerState.retryPause)
            }
        }
    }

    private static func parse(_ version: PipelineVersion) -> Answer {
        do throws(VariantError) {
            let pipeline = try Pipeline(json: version.spec.utf8)
            try pipeline.validateSupported()
            return .success(pipeline)
        } catch {
            return .failure(
                FailureReason(
                    .pipelineInvalid,
                    "pipeline \(version.name) version \(version.version): \(error)"))
        }
    }
}
