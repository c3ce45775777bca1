private import CPostgres

/// A short blocking session for administration outside any queue, such as creating a database.
package struct AdminSession: ~Copyable {
    package enum Response: ~Copyable {
        case session(AdminSession)
        /// A server is starting, recovering or stopping.
        case unready
        /// No server listens.
        case absent
        /// The server refuses this login or database.
        case refused(QueueError)
    }

    private let session: Session

    /// Connects to a libpq URL. Throws `.unreachable`, `.loginRefused` or `.badDatabaseURL`.
    package init(_ url: String, timeout: Duration = .seconds(10)) throws(QueueError) {
        session = try Session(DatabaseURL(url), timeout: timeout)
    }

    /// Connects, and tells a starting server from an absent one (`PQpingParams`).
    package static func connect(to url: String) -> Response {
        do throws(QueueError) {
            return .session(try AdminSession(url))
        } catch {
            if error.code == .loginRefused { return .refused(error) }
            let settings = [("connect_timeout", "10"), ("dbname", url)]
            switch settings.withCStrings({ keywords, values in PQpingParams(keywords, values, 1) }) {
            case PQPING_OK, PQPING_REJECT: return .unready
            default: return .absent
            }
        }
    }

    /// Runs one statement and returns the first column of the first row; nil for NULL or no row.
    ///
    /// Takes at most 10 minutes. Throws `.refused`, `.connectionLost` or `.timeout`.
    @discardableResult
    package func execute(_ sql: String) throws(QueueError) -> String? {
        let deadline = ContinuousClock.now + .seconds(600)
        try session.dispatch(sql, Parameters([]), prepared: false)
        try session.flush(until: deadline)
        let rows = try session.answer(until: deadline)
        if let error = rows.error { throw error }
        return rows.count > 0 ? rows.text(0, 0) : nil
    }
}
