/// The statements that a queue has sent, each one round trip.
package struct StatementCounts: Sendable, Equatable {
    /// Sent, answered or not.
    package var sent = 0
    /// Refused by the server, or lost with the connection; sessions that could not be opened included.
    package var failed = 0
    /// Time between sending and the answer, of all of them.
    package var time = Duration.zero
}
