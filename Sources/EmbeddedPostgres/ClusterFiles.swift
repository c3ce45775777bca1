private import ImageModel

/// The files that Larder writes to a data directory at each server start.
enum ClusterFiles {
    /// The role that owns everything, and the database's name.
    static let role = "larder"

    /// `larder.conf`, included by `postgresql.conf`. `disposable`: for tests, without durability.
    static func settings(socketDirectory: String, disposable: Bool) -> String {
        """
        # Written by larder at each start of this server.
        # Put your own settings into postgresql.conf, below the line that includes this file.
        listen_addresses = ''
        port = 5432
        unix_socket_directories = '\(socketDirectory)'
        unix_socket_permissions = 0700
        cluster_name = 'larder'
        timezone = 'UTC'

        max_connections = \(disposable ? 300 : 100)
        shared_buffers = 128MB
        max_wal_size = 1GB
        # The statements of the queue are short: compiling them costs more than it saves.
        jit = off

        # A week of logs.
        logging_collector = on
        log_directory = 'log'
        log_filename = 'postgresql-%a.log'
        log_rotation_age = 1d
        log_rotation_size = 0
        log_truncate_on_rotation = on
        log_checkpoints = off
        \(disposable ? "\nfsync = off\nsynchronous_commit = off\nfull_page_writes = off\n" : "")
        """
    }

    /// `pg_hba.conf`: only the socket, for the mapped users. Tests may log in as any role.
    static func hostAccess(disposable: Bool) -> String {
        """
        # Written by larder at each start of this server.
        \(disposable ? "local all all trust" : "local all all peer map=larder")

        """
    }

    /// `pg_ident.conf`: maps the server's user and root to the role `larder`. All others are refused, even if the
    /// directory's permissions were opened.
    static func userMap(account: ServerAccount) -> String {
        let name = account.name.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"")
        return """
            # Written by larder at each start of this server.
            larder "\(name)" \(role)
            larder root \(role)

            """
    }

    private static let fixedParameters =
        "hostaddr=&options=&sslmode=disable&gssencmode=disable&channel_binding=disable&requirepeer=&target_session_attrs=any"

    /// A database's URL over the socket in `socketDirectory`.
    ///
    /// Sets every parameter, because libpq takes missing ones from the environment (PGHOSTADDR, PGPORT, PGUSER,
    /// PGOPTIONS, PGSSLMODE) and from PGSERVICE's file. libpq refuses an undefined PGSERVICE whatever the URL is.
    static func url(database name: String, socketDirectory: String) -> String {
        let host = socketDirectory.utf8.map { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"):
                return String(UnicodeScalar(byte))
            default:
                return "%" + byte.hexadecimal(digits: 2, uppercase: true)
            }
        }
        return "postgresql:///\(name)?host=\(host.joined())&port=5432&user=\(role)&" + fixedParameters
    }
}
