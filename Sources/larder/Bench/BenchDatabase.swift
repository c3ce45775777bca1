import Foundation
import JobQueue

/// A migrated database for one run, on a server that somebody else keeps.
struct BenchDatabase: Sendable {
    /// How to connect to it.
    let url: String
    private let name: String
    private let server: BenchSession

    /// Makes it.
    init(on server: String) async throws {
        name = "larder_bench_" + UUID().uuidString.prefix(8).lowercased()
        // Of two `dbname`s libpq takes the later.
        let separator = server.contains("://") ? (server.contains("?") ? "&" : "?") : " "
        url = server + separator + "dbname=\(name)"
        self.server = BenchSession(server)
        try await self.server.ask("CREATE DATABASE \(name)")
        try await Migrator(PostgresJobQueue.Configuration(databaseURL: url)).migrate()
    }

    /// Drops it, whoever is still connected.
    func drop() async throws {
        try await server.ask("DROP DATABASE \(name) WITH (FORCE)")
        await server.close()
    }
}
