private import CPostgres
private import Concurrency
import Glibc

/// One attempt to connect with libpq, limited by the monotonic clock.
///
/// `PQconnectdb` measures `connect_timeout` by the time of day: after the clock was set back it waits that much longer.
struct ConnectAttempt: ~Copyable {
    enum Ending {
        case connected
        /// `PQerrorMessage` has the reason.
        case refused
        case timedOut
    }

    let connection: OpaquePointer

    /// Starts an attempt with libpq's keywords and values; nil if out of memory.
    init?(_ settings: [(String, String)]) {
        let made = settings.withCStrings { keywords, values in PQconnectStartParams(keywords, values, 1) }
        guard let made else { return nil }
        connection = made
    }

    deinit { PQfinish(connection) }

    /// The connection, which the caller must close.
    consuming func take() -> OpaquePointer {
        let connection = connection
        discard self
        return connection
    }

    /// `connect_timeout`, at least 2 s as in libpq; nil without one.
    var limit: Duration? {
        option("connect_timeout").flatMap { Int64($0) }.flatMap { $0 > 0 ? .seconds(max(2, $0)) : nil }
    }

    /// Waits until the attempt ends, at most `limit` per host and until the cut-off; blocks.
    func finish(within limit: Duration, _ cutOff: CallDeadline) -> Ending {
        let deadline = ContinuousClock.now + limit * hosts
        var events = Int16(POLLOUT)
        while PQstatus(connection) != CONNECTION_BAD {
            let left = cutOff.deadline(deadline) - ContinuousClock.now
            guard left > .zero else { return .timedOut }
            var descriptor = pollfd(fd: PQsocket(connection), events: events, revents: 0)
            let time = min(left, CallDeadline.interval)
            guard poll(&descriptor, 1, Int32(clamping: time.milliseconds + 1)) > 0 else { continue }
            switch PQconnectPoll(connection) {
            case PGRES_POLLING_READING: events = Int16(POLLIN)
            case PGRES_POLLING_WRITING: events = Int16(POLLOUT)
            case PGRES_POLLING_OK: return .connected
            default: break
            }
        }
        return .refused
    }

    /// Hosts that libpq tries in turn.
    private var hosts: Int {
        [option("host"), option("hostaddr")].compactMap { $0?.split(separator: ",").count }.max() ?? 1
    }

    private func option(_ keyword: String) -> String? {
        guard let options = PQconninfo(connection) else { return nil }
        defer { PQconninfoFree(options) }
        var option = options
        while let name = option.pointee.keyword {
            if strcmp(name, keyword) == 0 { return option.pointee.val.map { String(cString: $0) } }
            option += 1
        }
        return nil
    }
}

extension [(String, String)] {
    /// Passes keywords and values as the null-terminated arrays that libpq's `…Params` functions take.
    func withCStrings<Value>(
        _ body: (UnsafePointer<UnsafePointer<CChar>?>, UnsafePointer<UnsafePointer<CChar>?>) -> Value
    ) -> Value {
        let words = map { strdup($0.0) }
        let values = map { strdup($0.1) }
        defer { (words + values).forEach { free($0) } }
        return body(words.map { UnsafePointer($0) } + [nil], values.map { UnsafePointer($0) } + [nil])
    }
}

/// Why a server refused a connection, found by a second attempt.
///
/// libpq keeps no code of a failed connection, and its message is localized. With `PQERRORS_SQLSTATE` the message
/// consists only of severity and SQLSTATE, so the second attempt uses that verbosity.
package enum ConnectRefusal {
    package enum Finding: Equatable {
        /// Another attempt would be refused too: failed authentication (class 28), unknown database (3D000), and so on.
        /// `sqlState` is nil if libpq had no password to send.
        case final(sqlState: String?)
        /// Another attempt may succeed: no server answered, it is starting, stopping or full, or this attempt
        /// succeeded. Includes failures without an SQLSTATE, such as a failed TLS negotiation, which look like a broken
        /// connection.
        case passing
    }

    /// Tries to connect with libpq's keywords and values, for at most `limit`; blocks.
    static func find(_ settings: [(String, String)], limit: Duration, _ cutOff: CallDeadline) -> Finding {
        guard let attempt = ConnectAttempt(settings) else { return .passing }
        PQsetErrorVerbosity(attempt.connection, PQERRORS_SQLSTATE)
        guard case .refused = attempt.finish(within: limit, cutOff) else { return .passing }
        if PQconnectionNeedsPassword(attempt.connection) == 1 { return .final(sqlState: nil) }
        return judge(String(cString: PQerrorMessage(attempt.connection)))
    }

    /// Parses the output of `PQERRORS_SQLSTATE`: one line per attempt, and one attempt per address and kind of
    /// encryption. Final only if every attempt is.
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
