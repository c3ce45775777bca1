extension PostgresJobQueue.Reports {
    /// The newest version of a pipeline. Throws `.unknownPipeline`.
    public func pipeline(named name: String) async throws(QueueError) -> PipelineVersion {
        try await database.read(
            "SELECT pipeline_id, name, version, spec FROM larder.pipeline WHERE name = $1 ORDER BY version DESC LIMIT 1",
            [.text(name)]
        ) { rows throws(QueueError) in
            guard rows.count == 1 else { throw QueueError(.unknownPipeline, "unknown pipeline \"\(name)\"") }
            return try rows.pipeline(0)
        }
    }

    /// The newest version of each pipeline, by name.
    public func pipelines() async throws(QueueError) -> [PipelineVersion] {
        try await database.read(
            "SELECT pipeline_id, name, version, spec FROM larder.pipeline WHERE newest ORDER BY name"
        ) { rows throws(QueueError) in
            var pipelines: [PipelineVersion] = []
            for row in 0..<rows.count { pipelines.append(try rows.pipeline(row)) }
            return pipelines
        }
    }
}

/// A variant of a pipeline version, with the recipe that its files should have.
package struct WantedRecipe: Sendable, Hashable {
    package let pipeline: Int
    package let variant: String
    /// The current `Variant.recipe` of its key.
    package let recipe: String

    package init(pipeline: Int, variant: String, recipe: String) {
        self.pipeline = pipeline
        self.variant = variant
        self.recipe = recipe
    }
}

extension PostgresJobQueue.Reports {
    /// The newest pipeline versions, at most `limit`.
    package func recentPipelines(limit: Int = 1_000) async throws(QueueError) -> [PipelineVersion] {
        try await database.read(
            "SELECT pipeline_id, name, version, spec FROM larder.pipeline ORDER BY pipeline_id DESC LIMIT $1",
            [.integer(Int64(limit))]
        ) { rows throws(QueueError) in
            var pipelines: [PipelineVersion] = []
            for row in 0..<rows.count { pipelines.append(try rows.pipeline(row)) }
            return pipelines
        }
    }

    /// Stored variants made by another recipe than the wanted one, according to the records.
    ///
    /// - Parameter urls: at most 10,000 image URLs; nil for all records.
    package func differingVariants(_ wanted: [WantedRecipe], of urls: [String]?) async throws(QueueError) -> Int {
        guard !wanted.isEmpty else { return 0 }
        return try await database.read(
            "SELECT larder.differing_variants($1, $2, $3, CASE WHEN $4 = 1 THEN $5::text[] END)",
            [
                .integers(wanted.map { Int64($0.pipeline) }), .texts(wanted.map(\.variant)),
                .texts(wanted.map(\.recipe)), .integer(urls == nil ? 0 : 1), .texts(urls ?? []),
            ]
        ) { rows throws(QueueError) in Int(rows.integer(0, 0) ?? 0) }
    }
}
