private import CLinux
private import Glibc
internal import ImageModel
internal import Transcoder

/// A process that becomes a coder's program, when a pool starts `larder-transcoder` for it.
package enum CoderProcess {
    /// Whether the program's arguments request a coder.
    package static func isRequested(_ arguments: [String]) -> Bool { arguments.last == CoderLaunch.argument }

    /// Restricts the process as the message on `socket` says, then executes the program. Returns the exit code if that
    /// fails.
    package static func run(socket descriptor: Int32) -> Int32 {
        let socket = ChildSocket(descriptor)
        // Do not pass the socket to the program.
        guard fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0, let (message, _) = socket.receive(),
            let launch = try? CoderLaunch(message: message), prepare(launch),
            let isStarting = try? CoderReply().message(), socket.send(isStarting)
        else { return ChildExit.unfit }
        do throws(TranscodeError) { try start(launch) } catch {
            if let reply = try? CoderReply(error).message() { _ = socket.write(reply) }
        }
        return ChildExit.unfit
    }

    /// False if the process cannot give up its privileges.
    private static func prepare(_ launch: CoderLaunch) -> Bool {
        guard larder_drop_privileges() == 0, larder_end_with_parent() == 0 else { return false }
        // The pool may already have ended.
        return getppid() == launch.parent && chdir("/") == 0
    }

    /// - Throws: `TranscodeError` 501 for an incomplete sandbox, and if the program cannot be started.
    private static func start(_ launch: CoderLaunch) throws(TranscodeError) {
        let coder = launch.coder
        let paths = strings(ImageCoder.standardPaths + coder.paths + [coder.command[0]])
        let arguments = strings(coder.command)
        let environment = strings(["LC_ALL=C", "PATH=/usr/local/bin:/usr/bin:/bin"])
        let readable = paths.dropLast().map { UnsafePointer($0) }
        // Files first: the system call filter denies Landlock's calls.
        let deniesFiles = larder_deny_program_files(readable, Int32(readable.count)) == 0
        let filtersCalls = larder_filter_program_calls() == 0
        try launch.sandbox.check(SandboxLevel(filtersCalls: filtersCalls, deniesFiles: deniesFiles))
        guard larder_set_limit(larder_limit_core, 0) == 0, larder_set_limit(larder_limit_descriptors, 64) == 0,
            larder_set_limit(larder_limit_processor, UInt64(launch.processorSeconds)) == 0,
            larder_set_limit(larder_limit_file_size, UInt64(launch.outputBytes)) == 0,
            larder_set_limit(larder_limit_memory, UInt64(launch.memoryBytes)) == 0
        else { throw refusal(coder, "its limits cannot be set") }
        execve(coder.command[0], arguments, environment)
        throw refusal(coder, coder.command[0])
    }

    private static func refusal(_ coder: ImageCoder, _ what: String) -> TranscodeError {
        let number = errno
        return TranscodeError(
            .localFault, "the coder '\(coder.name)' cannot be started: \(what) (errno \(number))",
            countsTowardPoison: false,
            profile: MachineShortage.reason(number) == nil ? "coders.\(coder.name)" : nil)
    }

    /// C strings that the process keeps until its end, with a final null pointer.
    private static func strings(_ texts: [String]) -> [UnsafeMutablePointer<CChar>?] {
        texts.map { strdup($0) } + [nil]
    }
}
