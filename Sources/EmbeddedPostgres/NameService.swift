private import Glibc

/// The password database of a server whose user has no entry in the system's, as in a container that runs under any
/// user id. Postgres refuses to run without an entry.
///
/// The library `nss_wrapper` replaces the lookups by two files in the cluster's directory.
struct NameService: Sendable {
    private static let directories = [
        "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib",
    ]

    let account: ServerAccount
    /// The absolute path of the cluster's directory.
    let directory: String

    /// The path of the library; nil when it is not installed.
    static var library: String? {
        directories.map { "\($0)/libnss_wrapper.so" }.first { access($0, R_OK) == 0 }
    }

    /// The lines of a command's environment; none for an account that is listed.
    var environment: [String] {
        guard !account.isListed, let library = Self.library else { return [] }
        return [
            "LD_PRELOAD=\(library)", "NSS_WRAPPER_PASSWD=\(directory)/passwd", "NSS_WRAPPER_GROUP=\(directory)/group",
        ]
    }

    /// The file `passwd`. Root may connect, too.
    var passwords: String {
        "\(account.name):x:\(account.userID):\(account.groupID)::/:/bin/false\nroot:x:0:0::/:/bin/false\n"
    }

    /// The file `group`.
    var groups: String { "\(account.name):x:\(account.groupID):\n" }
}
