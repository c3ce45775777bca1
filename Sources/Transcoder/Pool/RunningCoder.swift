private import CLinux
internal import Concurrency
private import Glibc
internal import ImageModel

/// A coder's process for one image. Dropping it kills and reaps the process.
struct RunningCoder: ~Copyable {
    var process: ChildProcess
    private let coder: ImageCoder
    private let limits: TranscodeLimits
    private let socket: Int32
    /// Readable once the process has ended.
    private let end: Int32
    private let errors: ChildErrors

    /// Starts the transcoder's program, which restricts itself and then becomes the coder's.
    ///
    /// - Parameters:
    ///   - original: stays the caller's.
    ///   - output: receives the picture; stays the caller's.
    /// - Throws: `TranscodeError` 301, or 501 if this machine lacks resources for a process.
    init(
        _ coder: ImageCoder, _ original: Int32, _ output: Int32, _ configuration: TranscoderPool.Configuration,
        _ program: TranscoderProgram.File
    ) throws(TranscodeError) {
        let launch = try CoderLaunch(coder, configuration.limits, configuration.sandbox, parent: getpid()).message()
        var errors = try ChildErrors()
        // A separate position: the caller's stays at the beginning.
        let source = larder_open_unseen("/proc/self/fd/\(original)")
        guard source >= 0 else { throw TranscodeError.noChild("the original cannot be opened for reading", errno) }
        defer { close(source) }
        var sockets: [Int32] = [-1, -1]
        guard larder_packet_pair(&sockets) == 0 else {
            throw TranscodeError.noChild("there is no socket for the coder '\(coder.name)'", errno)
        }
        defer { close(sockets[1]) }
        let sent = launch.withUnsafeBytes { larder_send_descriptors(sockets[0], $0.baseAddress, $0.count, nil, 0) }
        guard sent == launch.count else {
            let failure = errno
            close(sockets[0])
            throw TranscodeError.noChild("the socket of the coder '\(coder.name)' takes no message", failure)
        }
        do throws(SpawnError) {
            process = try ChildProcess(
                program.path, configuration.arguments + [CoderLaunch.argument], environment: configuration.environment,
                descriptors: [source, output, errors.writer, sockets[1], program.descriptor],
                file: "/proc/self/fd/4", blocked: RunningChild.blockedSignals)
        } catch {
            close(sockets[0])
            throw TranscodeError.noChild("\(error.program) cannot be started", error.code)
        }
        end = larder_open_process(process.processID)
        socket = sockets[0]
        errors.closeWriter()
        self.errors = errors
        (self.coder, limits) = (coder, configuration.limits)
    }

    deinit {
        close(socket)
        if end >= 0 { close(end) }
    }

    /// Processor time of all threads since the start; zero once reaped.
    var processorTime: Duration { .nanoseconds(max(0, larder_processor_time(process.processID))) }

    /// Waits for the process's end; blocks the thread. Does not reap it, so that its id is not reused.
    ///
    /// - Throws: `TranscodeError` 206 after the processor time, 301 after the wall-clock time, 501 if the kernel cannot
    ///   tell when a process ends.
    func wait() throws(TranscodeError) {
        guard end >= 0 else {
            throw TranscodeError(.localFault, "the kernel or the container lacks pidfd_open", countsTowardPoison: false)
        }
        let deadline = ContinuousClock.now + limits.wallTime
        while true {
            let left = deadline - .now, spare = limits.hardTime - processorTime
            guard left > .zero else {
                throw TranscodeError(
                    .died, "the coder '\(coder.name)' did not finish within \(limits.wallTime)",
                    countsTowardPoison: false)
            }
            guard spare > .zero else { throw tookTooLong }
            var watched = pollfd(fd: end, events: Int16(POLLIN), revents: 0)
            let milliseconds = min(left, max(spare / 4, .milliseconds(10))) / .milliseconds(1) + 1
            if Glibc.poll(&watched, 1, Int32(min(milliseconds, 1e9))) > 0 { return }
        }
    }

    /// Reaps the process and checks its result.
    ///
    /// - Parameter output: its picture.
    /// - Throws: `TranscodeError` 1001 if it failed or wrote no picture, 205 if it wrote too much, 501 if it could not
    ///   be started.
    mutating func finish(_ output: Int32) throws(TranscodeError) {
        let status = process.wait()
        var isStarted = false
        while let reply = try reply() {
            if let error = reply.error { throw error }
            isStarted = true
        }
        guard isStarted else {
            throw TranscodeError(.died, "no process for the coder '\(coder.name)'", countsTowardPoison: false)
        }
        guard larder_file_length(output) < limits.memoryBytes, status != .signalled(SIGXFSZ) else {
            throw TranscodeError(
                .memory, "the coder '\(coder.name)' wrote \(limits.memoryBytes) bytes or more",
                needs: [limits.moreMemory])
        }
        switch status {
        case .exited(0): break
        case .exited(let code): throw undecodable("exited with code \(code)")
        case .signalled(SIGXCPU): throw tookTooLong
        case .signalled(SIGKILL):
            throw TranscodeError(.died, "signal 9 ended the coder '\(coder.name)'", signal: SIGKILL)
        case .signalled(let signal): throw undecodable("was ended by signal \(signal)")
        }
        var start = [UInt8](repeating: 0, count: 8)
        let count = pread(output, &start, start.count, 0)
        guard count > 0 else { throw undecodable("wrote nothing") }
        guard ImageFormat.recognise(start) == .png || start.starts(with: Self.pam) else {
            throw undecodable("wrote neither PNG nor PAM")
        }
    }

    /// The signature of a PAM.
    private static let pam = Array("P7\n".utf8)

    /// The next message; nil after the last. Does not wait, as the process has ended.
    private func reply() throws(TranscodeError) -> CoderReply? {
        var bytes = [UInt8](repeating: 0, count: 16 << 10)
        var none = Int32(0)
        let length = larder_receive_descriptors(socket, &bytes, bytes.count, nil, &none)
        return length > 0 ? try CoderReply(message: Array(bytes.prefix(length))) : nil
    }

    private var tookTooLong: TranscodeError {
        TranscodeError(
            .time, "the coder '\(coder.name)' took more than \(limits.hardTime) of processor time",
            needs: [limits.moreTime])
    }

    /// Appends the program's last line on standard error, usually the reason.
    private func undecodable(_ what: String) -> TranscodeError {
        let line = errors.takeLastLine().map { ": \($0)" } ?? ""
        return TranscodeError(.undecodable, "the coder '\(coder.name)' \(what)\(line)")
    }
}

/// A coder's picture of an original, as a file in memory.
final class CoderPicture {
    let coder: String
    let descriptor: Int32
    var processorTime = Duration.zero

    /// An empty file.
    ///
    /// - Throws: `TranscodeError` 301, or 501 if this machine lacks descriptors or memory.
    init(by coder: String) throws(TranscodeError) {
        self.coder = coder
        descriptor = larder_memory_file("picture")
        guard descriptor >= 0 else { throw TranscodeError.noChild("there is no file for a picture", errno) }
    }

    deinit { close(descriptor) }
}
