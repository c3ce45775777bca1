/// A database of its own for one test, dropped with its last reference.
///
/// All of them lie on one private server per test process, or on the one that LARDER_TEST_DATABASE_URL names.
public final class TemporaryDatabase: Sendable {
    /// How to connect: a URL that libpq, psql and Larder's `--database` take.
    public let url: String
    private let name: String

    private init(_ made: (name: String, url: String)) {
        name = made.name
        url = made.url
    }

    deinit {
        // The process does not wait for the last of them: its server ends anyway.
        Task { [name] in await TestServer.shared.drop(name) }
    }

    /// An empty database.
    public static func make() async throws -> TemporaryDatabase {
        TemporaryDatabase(try await TestServer.shared.makeEmpty())
    }

    /// A copy of the database that `prepare` filled, once per process and `template`.
    ///
    /// - Parameters:
    ///   - template: what the template is called; the same name must always come with the same `prepare`.
    ///   - prepare: fills an empty database, for example migrates it, and closes its connections.
    public static func make(
        template: String, prepare: @escaping @Sendable (_ url: String) async throws -> Void
    ) async throws -> TemporaryDatabase {
        TemporaryDatabase(try await TestServer.shared.make(template: template, prepare: prepare))
    }
}
