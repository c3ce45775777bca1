import Foundation

/// A database of its own for one test, dropped with its last reference.
///
/// All of them lie on one private server per test process, or on the one that LARDER_TEST_DATABASE_URL names. With
/// LARDER_TEST_POOLER=1 a pgbouncer in transaction mode stands before it.
public final class TemporaryDatabase: Sendable {
    /// How to connect: a URL that libpq, psql and Larder's `--database` take.
    public let url: String
    /// The same without a pooler between.
    public let directURL: String
    private let name: String

    /// The same through a pooler in transaction mode.
    public var pooledURL: String { get async throws { try await TestServer.shared.pooledURL(name) } }

    /// Whether all tests go through a pooler.
    public static let isPooled = !(ProcessInfo.processInfo.environment["LARDER_TEST_POOLER"] ?? "").isEmpty

    /// Whether all tests run on other servers than Debian's.
    public static let isOnOtherServers = ClusterHome.otherServers != nil

    private init(_ made: (name: String, url: String)) async throws {
        name = made.name
        directURL = made.url
        url = Self.isPooled ? try await TestServer.shared.pooledURL(made.name) : made.url
    }

    deinit {
        // The process does not wait for the last of them: its server ends anyway.
        Task { [name] in await TestServer.shared.drop(name) }
    }

    /// An empty database.
    public static func make() async throws -> TemporaryDatabase {
        try await TemporaryDatabase(TestServer.shared.makeEmpty())
    }

    /// A copy of the database that `prepare` filled, once per process and `template`.
    ///
    /// - Parameters:
    ///   - template: what the template is called; the same name must always come with the same `prepare`.
    ///   - prepare: fills an empty database, for example migrates it, and closes its connections.
    public static func make(
        template: String, prepare: @escaping @Sendable (_ url: String) async throws -> Void
    ) async throws -> TemporaryDatabase {
        try await TemporaryDatabase(TestServer.shared.make(template: template, prepare: prepare))
    }
}
