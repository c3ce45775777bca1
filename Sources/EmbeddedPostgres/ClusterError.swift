private import Glibc

/// Why the embedded cluster could not be created, started, asked or stopped.
public enum ClusterError: Error, Sendable, Equatable {
    /// What was being done when a command of the server failed.
    public enum Step: String, Sendable {
        case create, configure, start, stop
    }

    /// No usable server binaries; `package` is the Debian package that brings them, `searched` the directories looked at.
    case serverMissing(package: String, searched: [String])
    /// Root may not run the server, and the account that should is missing; `package` is the Debian package that makes it.
    case accountMissing(name: String, package: String)
    /// The user has no entry in the password database; Postgres refuses to run under such a user.
    case userUnknown(userID: UInt32)
    /// The server's user cannot enter the directory of its cluster, and no other place could be chosen.
    case cannotEnter(user: String, path: String)
    /// The cluster belongs to another user; only that user and root get in.
    case foreignCluster(path: String, owner: UInt32)
    /// The directory is not what Larder makes: a directory of mode 0700 owned by the server's user (`expected`).
    case unsafeDirectory(path: String, expected: UInt32)
    /// A system call failed on `path`; `code` is `errno`.
    case file(path: String, call: String, code: Int32)
    /// Another command has been creating, starting or stopping the cluster for longer than the time limit.
    case busy(path: String)
    /// A command of the server failed; `lines` are the last lines it or the server's log wrote.
    case commandFailed(Step, lines: [String])
    /// A step took longer than its limit and was ended.
    case tooSlow(Step, seconds: Int)
    /// The server answered and refused: `sqlState` is its code, empty when it gave none.
    case refused(sqlState: String, message: String)
}

extension ClusterError: CustomStringConvertible {
    /// One line that names the thing, without a line break at its end.
    public var description: String {
        switch self {
        case .serverMissing(let package, let searched):
            "no Postgres server binaries in \(searched.joined(separator: ", ")); install the Debian package \(package)"
        case .accountMissing(let name, let package):
            "the user \(name), who runs the server for root, is missing; install the Debian package \(package)"
        case .userUnknown(let userID):
            "user id \(userID) has no entry in the password database, so that Postgres refuses to run"
        case .cannotEnter(let user, let path):
            "the server's user \(user) cannot enter \(path)"
        case .foreignCluster(let path, let owner):
            "the cluster \(path) belongs to \(ServerAccount.name(of: owner)); only that user and root get in"
        case .unsafeDirectory(let path, let expected):
            "\(path) must be a directory of mode 0700 owned by \(ServerAccount.name(of: expected))"
        case .file(let path, let call, let code):
            "\(path): \(call): \(String(cString: strerror(code)))"
        case .busy(let path):
            "another command has been holding \(path) for too long"
        case .commandFailed(let step, let lines):
            "cannot \(step.rawValue) the embedded cluster: \(lines.joined(separator: " / "))"
        case .tooSlow(let step, let seconds):
            "cannot \(step.rawValue) the embedded cluster within \(seconds) s"
        case .refused(let sqlState, let message):
            "the embedded server refused\(sqlState.isEmpty ? "" : " (\(sqlState))"): \(message)"
        }
    }
}
