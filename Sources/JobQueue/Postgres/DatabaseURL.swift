private import CPostgres

extension PostgresJobQueue {
    /// Checks a database URL without connecting.
    ///
    /// - Parameter databaseURL: as in `Configuration`. Errors never quote it.
    /// - Throws: `.badDatabaseURL` if libpq cannot parse it.
    package static func validate(databaseURL: String) throws(QueueError) { _ = try DatabaseURL(databaseURL) }
}

/// Connection parameters, checked by libpq before connecting.
///
/// The text may contain a password, so errors never quote it.
struct DatabaseURL {
    let text: String

    /// Throws `.badDatabaseURL` (`PQconninfoParse`).
    init(_ text: String) throws(QueueError) {
        self.text = text
        // libpq takes a plain word for a database name and connects to the default server.
        guard text.contains("://") || text.contains("="), !text.utf8.contains(0) else {
            throw QueueError(.badDatabaseURL, "the database URL is neither postgresql://… nor key=value pairs")
        }
        var message: UnsafeMutablePointer<CChar>?
        guard let options = PQconninfoParse(text, &message) else {
            PQfreemem(message)
            throw QueueError(.badDatabaseURL, "libpq cannot read the database URL")
        }
        PQconninfoFree(options)
    }
}
