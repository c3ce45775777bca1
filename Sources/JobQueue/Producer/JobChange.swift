extension PostgresJobQueue.Producer {
    /// Changes a live job and returns its state; nil keeps a value.
    ///
    /// Throws `.unknownJob` for a job that is unknown or completed, and `.invalidArgument`.
    ///
    /// - Parameters:
    ///   - job: its number.
    ///   - priority: 0 first … 9 last.
    ///   - start: the time before which it does not run; a time that has passed makes it ready. No effect on a running
    ///     or suspended job.
    public func change(
        job: Int64, priority: Int? = nil, start: EnqueueRequest.Start? = nil
    ) async throws(QueueError) -> JobState {
        let at = start.map { $0.sql("$3") } ?? "$3::timestamptz"
        return try await database.ask(
            "SELECT larder.job_change($1, $2::int, \(at))",
            [.integer(job), .integer(priority.map(Int64.init)), start.map { .integer($0.milliseconds) } ?? .text(nil)]
        ) { rows throws(QueueError) in
            guard let state = rows.text(0, 0).flatMap(JobState.init(rawValue:)) else {
                throw QueueError(.unexpectedAnswer, "job_change answered \(rows.text(0, 0) ?? "nothing")")
            }
            return state
        }
    }
}
