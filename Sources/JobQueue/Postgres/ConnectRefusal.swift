private import CPostgres

/// Why a server refused a connection, found by a second attempt.
///
/// libpq keeps no code of a failed connection, and its message is in the server's language. With `PQERRORS_SQLSTATE`
/// the message consists of the severity and the SQLSTATE only, so the second attempt is made with that verbosity.
package enum ConnectRefusal {
    /// The result of the second attempt.
    package enum Finding: Equatable {
        /// Another attempt would be refused too: a failed authentication (class 28), an unknown database (3D000), and
        /// so on. `sqlState` is nil when libpq had no password to send.
        case final(sqlState: String?)
        /// Another attempt may succeed: no server answered, it is starting, stopping or full, or this attempt
        /// succeeded. A failure without an SQLSTATE, such as a failed TLS negotiation, is counted here because it
        /// cannot be distinguished from a broken connection.
        case passing
    }

    /// Tries to connect with `settings`, libpq's keywords and values, for at most `limit`; blocks.
    static func find(_ settings: [(String, String)], limit: Duration, _ cutOff: CallDeadline) -> Finding {
        guard let attempt = ConnectAttempt(settings) else { return .passing }
        PQsetErrorVerbosity(attempt.connection, PQERRORS_SQLSTATE)
        guard case .refused = attempt.finish(within: limit, cutOff) else { return .passing }
        if PQconnectionNeedsPassword(attempt.connection) == 1 { return .final(sqlState: nil) }
        return judge(String(cString: PQerrorMessage(attempt.connection)))
    }

    /// Reads what was written with `PQERRORS_SQLSTATE`: one line per attempt, and an attempt per address and kind of
    /// encryption. Final only when each of them is.
    static func judge(_ report: String) -> Finding {
        var last: String?
        for line in report.split(separator: "\n") {
            guard let state = line.split(separator: " ").last, state.utf8.count == 5,
                state.utf8.allSatisfy({
                    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                        || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0)
                })
            else { return .passing }
            if SQLState(String(state)).isTransient { return .passing }
            last = String(state)
        }
        return last.map { .final(sqlState: $0) } ?? .passing
    }
}
