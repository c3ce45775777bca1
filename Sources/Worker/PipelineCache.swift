internal import Concurrency
internal import ImageModel
internal import JobQueue

/// The pipelines a worker has met, kept once read: a version never changes.
actor PipelineCache {
    /// Asks the database for a version.
    typealias Read = @Sendable (Int) async throws(QueueError) -> PipelineVersion

    private let ask: Read
    private var known: [Int: Result<Pipeline, FailureReason>] = [:]

    /// Versions that are being read, and who waits for them: all jobs of a first claim ask at once.
    private var underWay: [Int: [AsyncEvent]] = [:]

    /// More than so many at once are forgotten and read again when met.
    private static let most = 256

    init(queue: PostgresJobQueue) {
        self.init { id throws(QueueError) in try await queue.pipeline(id: id) }
    }

    init(ask: @escaping Read) { self.ask = ask }

    /// The pipeline's variants, or why this program cannot make them.
    ///
    /// A database that is away is asked again until it answers or the task is cancelled.
    ///
    /// - Throws: `QueueError` that waiting does not mend, or the last one when cancelled.
    func pipeline(_ id: Int) async throws(QueueError) -> Result<Pipeline, FailureReason> {
        // A cancelled one waits for nobody.
        while known[id] == nil, underWay[id] != nil, !Task.isCancelled {
            let bell = AsyncEvent()
            underWay[id]?.append(bell)
            await bell.wait()
            underWay[id]?.removeAll { $0 === bell }
        }
        if let result = known[id] { return result }
        if underWay[id] == nil { underWay[id] = [] }
        defer { for bell in underWay.removeValue(forKey: id) ?? [] { bell.signal() } }
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
                return try await ask(id)
            } catch {
                guard error.isTransient, !Task.isCancelled else { throw error }
                try? await Task.sleep(for: BatchCompleter.pause)
            }
        }
    }
}
