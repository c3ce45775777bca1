internal import Concurrency
private import Glibc

/// Runs the server's programs in a cluster's directory, as the server's user.
///
/// Root itself writes no files there: the directory's owner could redirect them by a symbolic link.
struct ClusterCommands: Sendable {
    struct Outcome: Sendable {
        /// Nil if killed at its time limit.
        var status: ExitStatus?
        /// The last non-empty lines of output, at most five.
        var lines: [String]

        /// Nil if killed.
        var code: Int32? { if case .exited(let code) = status { code } else { nil } }
        var succeeded: Bool { code == 0 }
        /// True if the server's user could not enter the directory.
        var couldNotEnter: Bool { code == ClusterCommands.cannotEnterCode }
    }

    private static let cannotEnterCode: Int32 = 71

    let directory: String
    let account: ServerAccount
    /// True if the caller is root: the command then changes to `account`.
    let isRoot: Bool

    /// Runs a program with arguments and waits for it.
    ///
    /// Input is empty. Output goes to an unlinked file: a server started by the program would keep a pipe open.
    func run(_ command: [String], limit: Duration) throws(ClusterError) -> Outcome {
        // pg_ctl puts paths into a shell command: relative ones have no special characters.
        let inside =
            ["-c", "umask 077; cd -- \"$1\" || exit \(Self.cannotEnterCode); shift; exec \"$@\"", "sh", directory]
            + command
        let become = [
            "--reuid=\(account.userID)", "--regid=\(account.groupID)",
            account.isListed ? "--init-groups" : "--clear-groups", "--", "/bin/sh",
        ]
        let output = try CapturedOutput()
        do {
            var child = try ChildProcess(
                isRoot ? "setpriv" : "/bin/sh", isRoot ? become + inside : inside,
                environment: ["PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"]
                    + NameService(account: account, directory: directory).environment,
                descriptors: [-1, output.descriptor, output.descriptor])
            let deadline = ContinuousClock.now + limit
            while child.poll() == nil && ContinuousClock.now < deadline { usleep(3000) }
            let status = child.poll()
            return Outcome(status: status, lines: output.lastLines())
        } catch {
            throw .file(path: error.program, call: "posix_spawn", code: error.code)
        }
    }

    /// Runs a shell script with `$1`, `$2`, … from `arguments`.
    func script(_ text: String, _ arguments: [String] = [], limit: Duration) throws(ClusterError) -> Outcome {
        try run(["/bin/sh", "-c", text, "sh"] + arguments, limit: limit)
    }
}

/// An unlinked file for a child's output.
private struct CapturedOutput: ~Copyable {
    let descriptor: Int32

    init() throws(ClusterError) {
        var path = Array("/tmp/larder-output-XXXXXX".utf8CString)
        descriptor = mkstemp(&path)
        guard descriptor >= 0 else { throw .file(path: "/tmp", call: "mkstemp", code: errno) }
        unlink(path)
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    }

    deinit { close(descriptor) }

    func lastLines() -> [String] { TextFile.lastLines(of: descriptor) }
}
