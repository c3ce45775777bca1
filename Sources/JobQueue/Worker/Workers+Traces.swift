extension PostgresJobQueue.Workers {
    /// The traceparents of the items that joined these jobs, at most 32 per job, by the job.
    ///
    /// A single try: an error of the database costs the links, not the jobs.
    package func joinedTraces(of jobs: [Int64]) async throws(QueueError) -> [Int64: [String]] {
        try await database.read(
            "SELECT job_id, traceparent FROM larder.joined_traces_v1($1)", [.integers(jobs)],
            maxWait: .zero
        ) { rows throws(QueueError) in
            var traces: [Int64: [String]] = [:]
            for row in 0..<rows.count {
                guard let job = rows.integer(row, 0), let trace = rows.text(row, 1) else { continue }
                traces[job, default: []].append(trace)
            }
            return traces
        }
    }
}
