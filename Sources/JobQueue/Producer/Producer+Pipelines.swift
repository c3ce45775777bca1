/// One version of a pipeline.
public struct PipelineVersion: Sendable {
    /// The id that jobs have.
    public let id: Int
    /// The name.
    public let name: String
    /// The version, from 1.
    public let version: Int
    /// The JSON text exactly as it was set: numbers keep their spelling.
    public let spec: String
}

extension PostgresJobQueue.Producer {
    /// Adds a version of a pipeline, unless the newest one has the same text. Live jobs keep their version.
    ///
    /// The text must be JSON (else `.refused`); its content is not checked.
    public func setPipeline(name: String, spec: String) async throws(QueueError) -> PipelineVersion {
        try await database.ask(
            """
            SELECT s.pipeline_id, $1::text, s.version, $2::text FROM larder.pipeline_set($1, $2::json) AS s
            """, [.text(name), .text(spec)]
        ) { rows throws(QueueError) in try rows.pipeline(0) }
    }
}

extension Rows {
    /// A pipeline from the columns id, name, version, spec.
    func pipeline(_ row: Int) throws(QueueError) -> PipelineVersion {
        guard row < count, let id = integer(row, 0), let name = text(row, 1), let version = integer(row, 2),
            let spec = text(row, 3)
        else { throw QueueError(.unexpectedAnswer, "an incomplete pipeline") }
        return PipelineVersion(id: Int(id), name: name, version: Int(version), spec: spec)
    }
}
