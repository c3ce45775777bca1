import Concurrency
import Foundation
import Glibc
import JobQueue

/// A private pgbouncer in transaction mode before a server, gone with its last reference or the process.
///
/// Debian 12 has 1.18, which does not support prepared statements: what a session asks the server to keep is unknown to
/// the next server session that a transaction is given.
public final class Pooler: Sendable {
    /// Where its socket is.
    public let directory: TemporaryDirectory
    private let disposal: Disposal

    struct Failure: Error, CustomStringConvertible { let description: String }

    /// Starts it.
    ///
    /// - Parameters:
    ///   - socketDirectory: where the server's socket is.
    ///   - poolSize: the most server sessions for one database.
    public init(socketDirectory: String, poolSize: Int = 12) async throws {
        directory = try TemporaryDirectory(open: true)
        // As root it steps down to the user that the server runs under; both must be able to write.
        try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: directory.path)
        try directory.write("\"larder\" \"\"\n".utf8, to: "users")
        try directory.write(
            """
            [databases]
            * = host=\(socketDirectory) port=5432
            [pgbouncer]
            listen_addr =
            listen_port = 6432
            unix_socket_dir = \(directory.path)
            auth_type = trust
            auth_file = \(directory.file("users"))
            auth_user = larder
            auth_query = SELECT rolname, '' FROM pg_roles WHERE rolname = $1
            pool_mode = transaction
            max_client_conn = 2000
            listen_backlog = 1024
            default_pool_size = \(poolSize)
            server_idle_timeout = 60
            ignore_startup_parameters = extra_float_digits,options
            pidfile = \(directory.file("pid"))
            logfile = \(directory.file("log"))
            """.utf8, to: "pgbouncer.ini")
        disposal = try Disposal(pooler: directory.path)
        let account = geteuid() == 0 ? ["-u", "postgres"] : []
        var child = try ChildProcess(
            "/usr/sbin/pgbouncer", ["-q", "-d"] + account + [directory.file("pgbouncer.ini")],
            descriptors: [-1, -1, -1])
        // It goes into the background before it listens, and is ready when it passes a statement on to the server.
        let postgres = url("postgres")
        guard child.wait() == .exited(0),
            await reached({ (try? AdminSession(postgres).execute("SELECT 1")) == "1" })
        else {
            throw Failure(description: (try? String(contentsOfFile: directory.file("log"), encoding: .utf8)) ?? "")
        }
    }

    deinit { disposal.clearAway() }

    /// The URL of a database through the pooler.
    public func url(_ database: String) -> String {
        "postgresql:///\(database)?host=\(directory.path)&port=6432&user=larder&sslmode=disable&gssencmode=disable&connect_timeout=60"
    }
}
