private import CPostgres
import Glibc

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
    package static func find(_ settings: [(String, String)], limit: Duration) -> Finding {
        let connection = settings.withCStrings { keywords, values in PQconnectStartParams(keywords, values, 1) }
        guard let connection else { return .passing }
        defer { PQfinish(connection) }
        PQsetErrorVerbosity(connection, PQERRORS_SQLSTATE)
        let deadline = ContinuousClock.now + limit
        var events = Int16(POLLOUT)
        while PQstatus(connection) != CONNECTION_BAD {
            let left = deadline - ContinuousClock.now
            guard left > .zero else { return .passing }
            var descriptor = pollfd(fd: PQsocket(connection), events: events, revents: 0)
            guard poll(&descriptor, 1, Int32(clamping: left.milliseconds + 1)) > 0 else { continue }
            switch PQconnectPoll(connection) {
            case PGRES_POLLING_READING: events = Int16(POLLIN)
            case PGRES_POLLING_WRITING: events = Int16(POLLOUT)
            case PGRES_POLLING_OK: return .passing
            default: break
            }
        }
        if PQconnectionNeedsPassword(connection) == 1 { return .final(sqlState: nil) }
        return judge(String(cString: PQerrorMessage(connection)))
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

extension [(String, String)] {
    /// Lends keywords and values as the two arrays, ended by null, that libpq's `…Params` functions take.
    func withCStrings<Value>(
        _ body: (UnsafePointer<UnsafePointer<CChar>?>, UnsafePointer<UnsafePointer<CChar>?>) -> Value
    ) -> Value {
        let words = map { strdup($0.0) }
        let values = map { strdup($0.1) }
        defer { (words + values).forEach { free($0) } }
        return body(words.map { UnsafePointer($0) } + [nil], values.map { UnsafePointer($0) } + [nil])
    }
}
