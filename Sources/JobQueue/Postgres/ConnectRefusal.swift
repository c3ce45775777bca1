private import CPostgres
import Glibc

/// Why a server that can be reached lets nobody in: a second look after a connection failed.
///
/// libpq keeps no code of a failed connection, and its message is for people, in the server's language. But it can be
/// told to write nothing except the severity and the SQLSTATE (`PQERRORS_SQLSTATE`), which is a format and not a text;
/// so the connection is tried once more like that.
package enum ConnectRefusal {
    /// What the second look found.
    package enum Finding: Equatable {
        /// The server says no, and will again: an authentication failed (class 28), no such database (3D000), …
        /// `sqlState` is nil where libpq itself had no password to send.
        case final(sqlState: String?)
        /// Nobody answered, the server is starting, stopping or full, or it lets everybody in by now. What gives no
        /// SQLSTATE is counted here as well, such as a failed negotiation of TLS: it cannot be told from a broken
        /// connection, and the caller's patience bounds how often it is tried.
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
