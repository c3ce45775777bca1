/// A file of `migrations`, embedded in the program.
struct Migration: Sendable {
    /// The name of the file without `.sql`.
    let name: String
    let sql: String

    /// All migrations in order, from number 1.
    static let all = EmbeddedText.all.map { Migration(String($0.name.dropLast(".sql".count)), $0.text) }

    init(_ name: String, _ sql: String) {
        self.name = name
        self.sql = sql
    }
}
