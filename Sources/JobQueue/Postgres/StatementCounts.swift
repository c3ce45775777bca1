/// The statements that a queue has sent, each one round trip.
public struct StatementCounts: Sendable, Equatable {
    /// Sent, answered or not.
    public var sent = 0
    /// Refused by the server, or lost with the connection; sessions that could not be opened included.
    public var failed = 0
    /// Time between sending and the answer, of all of them.
    public var time = Duration.zero
}
