internal import Concurrency
private import Glibc

/// Runs the server's programs inside a cluster's directory, as the server's user.
///
/// Whatever happens inside that directory is done by its owner: as root, Larder itself writes nothing there
/// that a symbolic link could lead astray.
struct ClusterCommands: Sendable {
    /// How a command ended and the last lines it wrote.
    struct Outcome: Sendable {
        /// Nil when it was killed at its time limit.
        var status: ExitStatus?
        /// At most five, without empty ones.
        var lines: [String]

        /// What it exited with; nil when it was killed.
        var code: Int32? { if case .exited(let code) = status { code } else { nil } }
        var succeeded: Bool { code == 0 }
        /// The server's user could not enter the directory.
        var couldNotEnter: Bool { code == ClusterCommands.cannotEnterCode }
    }

    private static let cannotEnterCode: Int32 = 71

    let directory: String
    let account: ServerAccount
    /// The caller is root, so that the command must change to `account`.
    let isRoot: Bool

    /// The server's sessions keep a few megabytes that they will need again. By its defaults glibc gives them back to the
    /// kernel at the end of each small transaction and asks for them at the start of the next: a twelfth of its time.
    private static let allocation = [
        "MALLOC_TRIM_THRESHOLD_=8388608", "MALLOC_MMAP_THRESHOLD_=4194304", "MALLOC_TOP_PAD_=262144",
    ]

    /// Runs `command`, a program and its arguments, and waits for it.
    ///
    /// Its input is empty; its output goes to a file without a name and not into a pipe, so that a server which
    /// keeps it open keeps nobody waiting.
    func run(_ command: [String], limit: Duration) throws(ClusterError) -> Outcome {
        // pg_ctl pastes paths into a shell command: it gets relative ones only, whatever characters the home has.
        let inside =
            ["-c", "umask 077; cd -- \"$1\" || exit \(Self.cannotEnterCode); shift; exec \"$@\"", "sh", directory]
            + command
        let become = [
            "--reuid=\(account.userID)", "--regid=\(account.groupID)", "--init-groups", "--", "/bin/sh",
        ]
        let output = try CapturedOutput()
        do {
            var child = try ChildProcess(
                isRoot ? "setpriv" : "/bin/sh", isRoot ? become + inside : inside,
                environment: ["PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"] + Self.allocation,
                descriptors: [-1, output.descriptor, output.descriptor])
            let deadline = ContinuousClock.now + limit
            while child.poll() == nil && ContinuousClock.now < deadline { usleep(3000) }
            let status = child.poll()
            return Outcome(status: status, lines: output.lastLines())
        } catch {
            throw .file(path: error.program, call: "posix_spawn", code: error.code)
        }
    }

    /// Runs a shell script whose `$1`, `$2`, … are `arguments`.
    func script(_ text: String, _ arguments: [String] = [], limit: Duration) throws(ClusterError) -> Outcome {
        try run(["/bin/sh", "-c", text, "sh"] + arguments, limit: limit)
    }
}

/// A file without a name that takes what a child writes.
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
