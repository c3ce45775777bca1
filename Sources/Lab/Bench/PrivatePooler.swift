import Concurrency
import FoundationEssentials
import Glibc

/// A private pgbouncer in transaction mode, for `chaos` and `bench fleet`.
actor PrivatePooler {
    static let program = "/usr/sbin/pgbouncer"
    static var isInstalled: Bool { access(program, X_OK) == 0 }

    private let thread = EventLoop(name: "pooler")
    private let directory: String
    private var child: ChildProcess?

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }
    nonisolated let place: SocketPlace

    /// Starts nothing.
    ///
    /// - Parameters:
    ///   - directory: for its socket and files.
    ///   - server: the directory of the server's socket.
    ///   - connections: maximum connections to the server.
    ///   - clients: maximum client connections.
    init(in directory: String, server: String, connections: Int = 12, clients: Int = 1_000) throws {
        self.directory = directory
        place = .path(directory + "/.s.PGSQL.6432")
        let files = [
            "pgbouncer.users": "\"larder\" \"\"\n",
            "pgbouncer.ini": """
            [databases]
            * = host=\(server) port=5432
            [pgbouncer]
            listen_addr =
            listen_port = 6432
            unix_socket_dir = \(directory)
            auth_type = trust
            auth_file = \(directory)/pgbouncer.users
            pool_mode = transaction
            max_client_conn = \(clients)
            default_pool_size = \(connections)
            listen_backlog = 4096
            server_login_retry = 1
            ignore_startup_parameters = extra_float_digits,options

            """,
        ]
        for (name, text) in files { try Data(text.utf8).write(to: URL(filePath: directory + "/" + name)) }
        // It may run as another user.
        chmod(directory, 0o777)
    }

    deinit { thread.stop() }

    func start() throws {
        let account = geteuid() == 0 ? ["--reuid=postgres", "--regid=postgres", "--init-groups"] : []
        child = try ChildProcess(
            "setpriv", account + ["--pdeathsig", "KILL", "--", Self.program, "-q", directory + "/pgbouncer.ini"],
            descriptors: [-1, -1, -1])
    }

    /// Nil if it is not running.
    var processID: Int32? { child?.processID }

    /// The URL of the database `larder` through it.
    nonisolated var url: String {
        "postgresql:///larder?host=\(directory)&port=6432&user=larder&sslmode=disable&gssencmode=disable"
    }

    /// Kills it, with all sessions, and starts another.
    func restart() throws {
        stop()
        try start()
    }

    func stop() {
        child?.kill(SIGKILL)
        _ = child?.wait()
        child = nil
        unlink(directory + "/.s.PGSQL.6432")
    }
}
