/// One version of a pipeline.
public struct PipelineVersion: Sendable {
    /// The number jobs carry.
    public let id: Int
    /// The name.
    public let name: String
    /// The version, from 1.
    public let version: Int
    /// The JSON text exactly as it was set: numbers keep their spelling.
    public let spec: String
}

extension PostgresJobQueue {
    /// Makes a new version of a pipeline, unless the newest one has the same text. Live jobs keep theirs.
    ///
    /// The text must be JSON; what it says is the caller's to check.
    public func setPipeline(name: String, spec: String) async throws(QueueError) -> PipelineVersion {
        throw QueueError(.unreachable, "")
    }

    /// The pipeline version that jobs name. Throws `.unknownPipeline`.
    public func pipeline(id: Int) async throws(QueueError) -> PipelineVersion {
        throw QueueError(.unreachable, "")
    }

    /// The newest version of a pipeline. Throws `.unknownPipeline`.
    public func pipeline(named name: String) async throws(QueueError) -> PipelineVersion {
        throw QueueError(.unreachable, "")
    }

    /// The newest version of each pipeline, by name.
    public func pipelines() async throws(QueueError) -> [PipelineVersion] {
        throw QueueError(.unreachable, "")
    }
}
