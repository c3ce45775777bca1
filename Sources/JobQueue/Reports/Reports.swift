extension PostgresJobQueue {
    /// Reads batches, jobs and the state of the queues.
    public var reports: Reports { Reports(database: self) }

    /// The calls that change nothing; a login needs the role `larder_reader`, and for its own batches and jobs
    /// `larder_producer`. Each ends with its task.
    public struct Reports: Sendable {
        let database: PostgresJobQueue
    }
}

extension PostgresJobQueue.Reports {
    /// A time as ISO 8601 in UTC, whatever the session's settings.
    static func iso(_ column: String) -> String {
        "to_char(\(column) AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')"
    }
}
