private import CPostgres
internal import JobQueue

/// A short, blocking session with which the embedded server itself is asked and its databases are made.
///
/// It lives on a `ThreadPool`. The queue's own sessions are another matter.
package struct MaintenanceSession: ~Copyable {
    private let connection: OpaquePointer

    /// What a server says to a caller.
    enum Reply: ~Copyable {
        case session(MaintenanceSession)
        /// It is there but takes nobody: starting, recovering or stopping.
        case rejecting
        /// Nobody listens.
        case silent
        /// It is there and does not let this caller in.
        case refused(message: String)
    }

    /// Connects to `url`.
    static func call(_ url: String) -> Reply {
        guard let connection = PQconnectdb(url + "&connect_timeout=10") else { return .silent }
        if PQstatus(connection) == CONNECTION_OK {
            return .session(MaintenanceSession(taking: connection))
        }
        let message = String(cString: PQerrorMessage(connection))
        PQfinish(connection)
        switch PQping(url + "&connect_timeout=10") {
        case PQPING_OK:
            // A server that was starting a moment ago and is up by now is none that refuses.
            let settings = [("connect_timeout", "10"), ("dbname", url)]
            guard case .final = ConnectRefusal.find(settings, limit: .seconds(10)) else { return .rejecting }
            return .refused(message: firstLine(message))
        case PQPING_REJECT: return .rejecting
        default: return .silent
        }
    }

    /// Connects to `url`, which may name any server.
    package init(_ url: String) throws(ClusterError) {
        guard let connection = PQconnectdb(url) else { throw .refused(sqlState: "", message: "out of memory") }
        guard PQstatus(connection) == CONNECTION_OK else {
            let message = Self.firstLine(String(cString: PQerrorMessage(connection)))
            PQfinish(connection)
            throw .refused(sqlState: "", message: message)
        }
        self.init(taking: connection)
    }

    private init(taking connection: OpaquePointer) {
        self.connection = connection
        PQsetNoticeProcessor(connection, { _, _ in }, nil)
    }

    deinit { PQfinish(connection) }

    /// Runs `sql`; the first column of the first row, nil when there is no row or it is null.
    @discardableResult
    package func ask(_ sql: String) throws(ClusterError) -> String? {
        let result = Result(taking: PQexec(connection, sql))
        switch PQresultStatus(result.pointer) {
        case PGRES_COMMAND_OK: return nil
        case PGRES_TUPLES_OK:
            guard PQntuples(result.pointer) > 0, PQgetisnull(result.pointer, 0, 0) == 0 else { return nil }
            return String(cString: PQgetvalue(result.pointer, 0, 0))
        default:
            // PG_DIAG_SQLSTATE is a character constant, which Swift does not import as one.
            let state = PQresultErrorField(result.pointer, Int32(UInt8(ascii: "C"))).map { String(cString: $0) } ?? ""
            throw .refused(sqlState: state, message: Self.firstLine(String(cString: PQerrorMessage(connection))))
        }
    }

    private static func firstLine(_ text: String) -> String {
        text.split(separator: "\n").first.map(String.init) ?? "no message"
    }

    private struct Result: ~Copyable {
        let pointer: OpaquePointer?

        init(taking pointer: OpaquePointer?) { self.pointer = pointer }

        deinit { PQclear(pointer) }
    }
}
