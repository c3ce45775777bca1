internal import CLinux
import Glibc

/// How a child process ended.
package enum ExitStatus: Sendable, Equatable {
    /// It exited with this code, 0…255.
    case exited(Int32)
    /// This signal ended it.
    case signalled(Int32)

    init(waitStatus status: Int32) {
        let signal = status & 0x7f
        self = signal == 0 ? .exited((status >> 8) & 0xff) : .signalled(signal)
    }
}

/// Why a child could not be started: the failed call's `errno`.
package struct SpawnError: Error, Equatable {
    package let program: String
    package let code: Int32
}

/// The owner of a child process. Releasing it kills and reaps the child.
///
/// Wraps `posix_spawn`, `kill` and `waitpid`.
package struct ChildProcess: ~Copyable, Sendable {
    /// Valid until `wait` has returned.
    package let processID: Int32
    private var ended: ExitStatus?

    /// Starts `program` (a path, or a name looked up in PATH) with exactly the given descriptors open.
    ///
    /// - Parameters:
    ///   - arguments: without the program's name.
    ///   - environment: `NAME=value` lines; nil inherits the parent's.
    ///   - descriptors: `descriptors[n]` becomes the child's descriptor n; -1 gives `/dev/null`.
    ///   - file: executed instead of the file at that path; `program` stays argument 0.
    ///   - blocked: signals that the child starts with blocked; none by default.
    /// - Throws: `SpawnError` if the program cannot be started.
    package init(
        _ program: String, _ arguments: [String], environment: [String]? = nil, descriptors: [Int32] = [-1, 1, 2],
        file: String? = nil, blocked: [Int32] = []
    ) throws(SpawnError) {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        // In two passes through numbers that are neither source nor target: a direct dup2 could overwrite a remaining
        // source.
        let moved = Self.unusedNumbers(apartFrom: descriptors)
        for (source, number) in zip(descriptors, moved) where source >= 0 {
            posix_spawn_file_actions_adddup2(&actions, source, number)
        }
        for (target, source) in descriptors.enumerated() {
            if source >= 0 {
                posix_spawn_file_actions_adddup2(&actions, moved[target], Int32(target))
            } else {
                posix_spawn_file_actions_addopen(&actions, Int32(target), "/dev/null", O_RDWR, 0)
            }
        }
        larder_spawn_close_from(&actions, Int32(descriptors.count))

        // The child must not inherit blocked or ignored signals.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var mask = sigset_t()
        var all = sigset_t()
        sigemptyset(&mask)
        for signal in blocked { sigaddset(&mask, signal) }
        sigfillset(&all)
        posix_spawnattr_setsigmask(&attributes, &mask)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))

        var argv: [UnsafeMutablePointer<CChar>?] = ([program] + arguments).map { strdup($0) } + [nil]
        var envp: [UnsafeMutablePointer<CChar>?] = (environment ?? []).map { strdup($0) } + [nil]
        defer { for pointer in argv + envp { free(pointer) } }
        var child = pid_t()
        let code =
            environment == nil
            ? posix_spawnp(&child, file ?? program, &actions, &attributes, &argv, environ)
            : posix_spawnp(&child, file ?? program, &actions, &attributes, &argv, &envp)
        guard code == 0 else { throw SpawnError(program: program, code: code) }
        processID = child
    }

    /// One number per source that is neither a source nor a target.
    private static func unusedNumbers(apartFrom sources: [Int32]) -> [Int32] {
        let count = Int32(sources.count)
        return Array((count..<count * 3).filter { !sources.contains($0) }.prefix(sources.count))
    }

    deinit {
        guard ended == nil else { return }
        Glibc.kill(processID, SIGKILL)
        var status: Int32 = 0
        while waitpid(processID, &status, 0) < 0 && errno == EINTR {}
    }

    /// Sends a signal, unless the child has been reaped.
    package func kill(_ signal: Int32) {
        if ended == nil { Glibc.kill(processID, signal) }
    }

    /// Waits for the child's end and blocks the thread: call it on a `ThreadPool`. Later calls return the same.
    package mutating func wait() -> ExitStatus {
        if let ended { return ended }
        var status: Int32 = 0
        while waitpid(processID, &status, 0) < 0 && errno == EINTR {}
        let result = ExitStatus(waitStatus: status)
        ended = result
        return result
    }

    /// The exit status if the child has ended; does not wait.
    package mutating func poll() -> ExitStatus? {
        if let ended { return ended }
        var status: Int32 = 0
        guard waitpid(processID, &status, WNOHANG) == processID else { return nil }
        ended = ExitStatus(waitStatus: status)
        return ended
    }
}
