/// How a call ends when the task that makes it is cancelled.
enum CallCancellation: Sendable {
    /// It goes on: a heartbeat, a claim, a completion and the other calls by which a worker keeps or returns its jobs.
    case never
    /// It ends unless it is sent. The answer of a statement that may change something is awaited: an enqueue, a command,
    /// maintenance.
    case untilSent
    /// It ends in any case, because it changes nothing. The server is asked to stop the statement, and the session is
    /// closed.
    case anyTime

    static let error = QueueError(.cancelled, "cancelled before the database answered")
}
