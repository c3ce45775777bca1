private import CLinux
internal import Concurrency
private import Glibc
internal import ImageModel

/// A child process and the pool's end of its socket. Dropping it closes the socket, kills the process and reaps it.
struct RunningChild: ~Copyable {
    enum Answer {
        case message([UInt8])
        /// The processor time of the request is used up.
        case overspent
        /// The request took too long by the clock.
        case late
        case closed
    }

    /// How long a request may take.
    struct Budget {
        /// What the process's own clock shows when the processor time is used up.
        var processorTime: Duration
        var deadline: ContinuousClock.Instant
    }

    /// Blocked in the child: a terminal sends these to every foreground process, a service manager to the whole
    /// service. The child finishes its image and ends when this process does.
    static let blockedSignals = [SIGHUP, SIGINT, SIGQUIT, SIGTERM]

    var process: ChildProcess
    var served = 0
    private let socket: Int32
    private let room = MessageRoom()
    private let errors: ChildErrors

    /// Starts a process; its setup is in the socket before.
    ///
    /// - Throws: `TranscodeError` 301, or 501 when this machine lacks what a child needs.
    init(_ configuration: TranscoderPool.Configuration, _ program: TranscoderProgram.File) throws(TranscodeError) {
        var limits = configuration.limits
        // Coders have processes of their own.
        limits.coders = []
        let setup = try ChildSetup(limits: limits, sandbox: configuration.sandbox).message()
        var errors = try ChildErrors()
        var sockets: [Int32] = [-1, -1]
        guard larder_packet_pair(&sockets) == 0 else {
            throw TranscodeError.noChild("there is no socket for the transcoder", errno)
        }
        defer { close(sockets[1]) }
        guard Self.send(setup, to: sockets[0]) else {
            let failure = errno
            close(sockets[0])
            throw TranscodeError.noChild("the transcoder's socket takes no message", failure)
        }
        do throws(SpawnError) {
            // Nothing of the parent's environment: no credentials, no settings. The child closes the descriptor that it
            // is started from.
            process = try ChildProcess(
                program.path, configuration.arguments, environment: configuration.environment,
                descriptors: [-1, -1, errors.writer, sockets[1], program.descriptor], file: "/proc/self/fd/4",
                blocked: Self.blockedSignals)
        } catch {
            close(sockets[0])
            throw TranscodeError.noChild("\(error.program) cannot be started", error.code)
        }
        socket = sockets[0]
        errors.closeWriter()
        self.errors = errors
    }

    deinit { close(socket) }

    /// Sends a message; false, with `errno`, when the child has ended. Drops what the child had written to standard
    /// error.
    func send(_ message: [UInt8], _ descriptors: [Int32]) -> Bool {
        _ = errors.takeLastLine()
        return Self.send(message, descriptors, to: socket)
    }

    private static func send(_ message: [UInt8], _ descriptors: [Int32] = [], to socket: Int32) -> Bool {
        message.withUnsafeBytes {
            larder_send_descriptors(socket, $0.baseAddress, $0.count, descriptors, Int32(descriptors.count))
        } == message.count
    }

    /// The budget of a request that is sent now.
    func budget(_ limits: TranscodeLimits) -> Budget {
        Budget(processorTime: processorTime + limits.hardTime, deadline: .now + limits.wallTime)
    }

    /// Waits for a reply; blocks the thread.
    func receive(within budget: Budget) -> Answer {
        while true {
            let left = budget.deadline - .now, spare = budget.processorTime - processorTime
            guard left > .zero else { return .late }
            guard spare > .zero else { return .overspent }
            var watched = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
            // Codecs have threads, so that processor time may pass faster than the clock. Rounded up, so that the last
            // waits are not a busy loop.
            let milliseconds = min(left, max(spare / 4, .milliseconds(10))) / .milliseconds(1) + 1
            guard Glibc.poll(&watched, 1, Int32(min(milliseconds, 1e9))) > 0 else { continue }
            var none = Int32(0)
            let length = larder_receive_descriptors(socket, room.bytes.baseAddress, room.bytes.count, nil, &none)
            return length > 0 ? .message(Array(room.bytes.prefix(length))) : .closed
        }
    }

    /// The processor time of all threads since the process started; zero when it has ended.
    private var processorTime: Duration { .nanoseconds(max(0, larder_processor_time(process.processID))) }

    /// The last line that the child wrote to standard error since the last message was sent to it; nil when there is
    /// none.
    func lastErrorLine() -> String? { errors.takeLastLine() }

    /// How the process ended after its socket closed; nil when it still runs. Waits up to 5 s: on a busy machine the
    /// exit takes time, and a signal sent meanwhile would be taken for the cause.
    mutating func exitStatus() -> ExitStatus? {
        let deadline = ContinuousClock.now + .seconds(5)
        while ContinuousClock.now < deadline {
            if let status = process.poll() { return status }
            Glibc.poll(nil, 0, 10)
        }
        return nil
    }
}

extension TranscodeError {
    /// There is no child because a system call failed with this error number: 501 when the machine lacks descriptors,
    /// memory or processes, otherwise 301, which is not the image's fault.
    static func noChild(_ what: String, _ number: Int32) -> TranscodeError {
        let shortage = MachineShortage.reason(number, startsProcess: true)
        return TranscodeError(
            shortage == nil ? .died : .localFault, "\(what) (errno \(number))", countsTowardPoison: false)
    }
}
