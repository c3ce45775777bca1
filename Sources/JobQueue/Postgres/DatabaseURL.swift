private import CPostgres

extension PostgresJobQueue {
    /// Checks a database URL without connecting.
    ///
    /// - Parameter databaseURL: as of `Configuration`. No error quotes it.
    /// - Throws: `.badDatabaseURL` for a text that libpq cannot read.
    package static func validate(databaseURL: String) throws(QueueError) { _ = try DatabaseURL(databaseURL) }
}

/// The parameters of a connection, checked by libpq before anything is tried.
///
/// The text may hold a password, so no error ever quotes it.
struct DatabaseURL {
    /// The text as given.
    let text: String

    /// Throws `.badDatabaseURL` (`PQconninfoParse`).
    init(_ text: String) throws(QueueError) {
        self.text = text
        // libpq takes a plain word for a database's name and then connects to the default server.
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
