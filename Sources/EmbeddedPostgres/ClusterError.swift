private import Glibc
internal import JobQueue

/// Why the embedded cluster could not be created, started, queried or stopped.
package enum ClusterError: Error, Sendable, Equatable {
    /// The step in which a server command failed.
    package enum Step: String, Sendable {
        case create, configure, start, stop, upgrade
    }

    /// No usable server binaries in the directories `searched`; the Debian package `package` has them.
    case serverMissing(package: String, searched: [String])
    /// There is no cluster in `path`.
    case notCreated(path: String)
    /// The account that runs root's server is missing; the Debian package `package` creates it.
    case accountMissing(name: String, package: String)
    /// The user has no entry in the password database, which Postgres needs, and `libnss-wrapper` is not installed.
    case userUnknown(userID: UInt32)
    /// The server's user cannot enter the directory of its cluster.
    case cannotEnter(user: String, path: String)
    /// The cluster belongs to another user; only that user and root may use it.
    case foreignCluster(path: String, owner: UInt32)
    /// The directory lacks mode 0700 or the owner `expected`.
    case unsafeDirectory(path: String, expected: UInt32)
    /// A system call failed on `path`; `code` is `errno`.
    case file(path: String, call: String, code: Int32)
    /// Another command has held the cluster's lock for longer than the time limit.
    case busy(path: String)
    /// A server command failed; `lines` are the last of its output and the server's log.
    case commandFailed(Step, lines: [String])
    /// A step exceeded its time limit and was killed.
    case tooSlow(Step, seconds: Int)
    /// The server refused a login or statement; `sqlState` is empty if it gave none.
    case refused(sqlState: String, message: String)
}

extension ClusterError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .serverMissing(let package, let searched):
            "no Postgres server binaries in \(searched.joined(separator: ", ")); install the Debian package \(package)"
        case .notCreated(let path):
            "there is no cluster in \(path)"
        case .accountMissing(let name, let package):
            "the user \(name) that runs the server for root is missing; install the Debian package \(package)"
        case .userUnknown(let userID):
            "user id \(userID) has no entry in the password database, which Postgres needs; install the Debian package "
                + "libnss-wrapper"
        case .cannotEnter(let user, let path):
            "the server's user \(user) cannot enter \(path)"
        case .foreignCluster(let path, let owner):
            "the cluster \(path) belongs to \(ServerAccount.name(of: owner)); only that user and root may use it"
        case .unsafeDirectory(let path, let expected):
            "\(path) must be a directory of mode 0700 owned by \(ServerAccount.name(of: expected))"
        case .file(let path, let call, let code):
            "\(path): \(call): \(String(cString: strerror(code)))"
        case .busy(let path):
            "another command holds \(path) for too long"
        case .commandFailed(let step, let lines):
            "cannot \(step.rawValue) the embedded cluster: \(lines.joined(separator: " / "))"
        case .tooSlow(let step, let seconds):
            "cannot \(step.rawValue) the embedded cluster within \(seconds) s"
        case .refused(let sqlState, let message):
            "the embedded server refused\(sqlState.isEmpty ? "" : " (\(sqlState))"): \(message)"
        }
    }
}

extension ClusterError {
    /// The same for a statement or login.
    init(_ error: QueueError) { self = .refused(sqlState: error.sqlState ?? "", message: error.message) }
}
