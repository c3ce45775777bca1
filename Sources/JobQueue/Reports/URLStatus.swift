/// The latest state of a URL with a pipeline.
package struct URLStatus: Sendable {
    package struct File: Sendable {
        /// Nil for the original.
        package let variant: String?
        package let key: String?
        /// Relative to the cache root.
        package let path: String
        package let format: String?
    }

    package let url: String
    /// The state of its live job, else `.completed`; nil if the URL is unknown.
    package let state: JobState?
    /// The last job's outcome, if there is no live job.
    package let outcome: JobOutcome?
    /// The live job, else the last completed one.
    package let job: Int64?
    /// When the last job completed, ISO 8601 in UTC.
    package let finishedAt: String?
    /// Files stored by the last completed job.
    package fileprivate(set) var files: [File]
}

extension PostgresJobQueue.Reports {
    /// The states of up to 10,000 distinct URLs with any version of a pipeline, in order.
    ///
    /// Throws `.unknownPipeline` and `.invalidArgument`.
    package func lookup(_ urls: [String], pipeline: String = "original") async throws(QueueError) -> [URLStatus] {
        try await database.read(
            """
            SELECT url, state, outcome, job_id, \(Self.iso("finished_at")), variant, key, path, format
            FROM larder.lookup($1, $2)
            """, [.texts(urls), .text(pipeline)]
        ) { rows throws(QueueError) in
            var found: [URLStatus] = []
            for row in 0..<rows.count {
                let url = rows.text(row, 0) ?? ""
                if found.last?.url != url {
                    found.append(
                        URLStatus(
                            url: url, state: rows.text(row, 1).flatMap(JobState.init(rawValue:)),
                            outcome: rows.text(row, 2).flatMap(JobOutcome.init(rawValue:)), job: rows.integer(row, 3),
                            finishedAt: rows.text(row, 4), files: []))
                }
                guard let path = rows.text(row, 7) else { continue }
                found[found.count - 1].files.append(
                    URLStatus.File(
                        variant: rows.text(row, 5), key: rows.text(row, 6), path: path, format: rows.text(row, 8)))
            }
            return found
        }
    }
}
