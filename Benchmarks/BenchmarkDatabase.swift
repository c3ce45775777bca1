import Foundation
import JobQueue

/// An empty database for one run: on the server named, else on a private cluster with the settings Larder gives it.
final class BenchmarkDatabase {
    /// How to connect to it.
    let url: String
    private let server: String
    private let name: String
    private let cluster: EmbeddedCluster?
    /// Where the private cluster lies; kept so that it does not go before the server.
    private let scratch: Scratch

    init(on given: String?, scratch: Scratch) async throws {
        self.scratch = scratch
        if let given {
            cluster = nil
            server = given
        } else {
            var configuration = EmbeddedCluster.Configuration(home: scratch.path + "/home")
            configuration.clusters = scratch.path + "/clusters"
            let made = EmbeddedCluster(configuration)
            cluster = made
            server = try await made.start()
        }
        name = "larder_bench_" + UUID().uuidString.prefix(8).lowercased()
        url = Self.url(server, database: name)
        try MaintenanceSession(server).ask("CREATE DATABASE \(name)")
    }

    /// Drops it, and ends the private server.
    func remove() async throws {
        if let cluster {
            try await cluster.stop()
        } else {
            try MaintenanceSession(server).ask("DROP DATABASE \(name) WITH (FORCE)")
        }
    }

    /// The same server with another database: of two `dbname`s libpq takes the later.
    private static func url(_ server: String, database: String) -> String {
        guard server.contains("://") else { return server + " dbname=\(database)" }
        return server + (server.contains("?") ? "&" : "?") + "dbname=\(database)"
    }
}
