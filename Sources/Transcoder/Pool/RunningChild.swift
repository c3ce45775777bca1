private import CLinux
internal import Concurrency
private import Glibc
internal import ImageModel

/// A child process and the pool's end of its socket. Dropping it closes the socket, kills and reaps the process.
struct RunningChild: ~Copyable {
    enum Answer {
        case message([UInt8])
        /// The request's processor time is used up.
        case overspent
        /// The request exceeded its wall-clock time.
        case late
        case closed
    }

    struct Budget {
        /// The process's total processor time at which the request's share is used up.
        var processorTime: Duration
        var deadline: ContinuousClock.Instant
    }

    /// Blocked in the child: terminals send them to every foreground process, service managers to the whole service.
    /// The child finishes its image and ends when this process does.
    static let blockedSignals = [SIGHUP, SIGINT, SIGQUIT, SIGTERM]

    var process: ChildProcess
    var served = 0
    private let socket: Int32
    private let room = MessageRoom()
    private let errors: ChildErrors

    /// Starts a process, with the setup already in its socket.
    ///
    /// - Throws: `TranscodeError` 301, or 501 if this machine lacks resources for a child.
    init(_ configuration: TranscoderPool.Configuration, _ program: TranscoderProgram.File) throws(TranscodeError) {
        var limits = configuration.limits
        // Coders run in separate processes.
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
            // Pass nothing of the parent's environment: no credentials or settings. The child closes the descriptor of
            // its program.
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

    /// Sends a message and drops earlier standard error output; false, with `errno`, if the child has ended.
    func send(_ message: [UInt8], _ descriptors: [Int32]) -> Bool {
        _ = errors.takeLastLine()
        return Self.send(message, descriptors, to: socket)
    }

    private static func send(_ message: [UInt8], _ descriptors: [Int32] = [], to socket: Int32) -> Bool {
        message.withUnsafeBytes {
            larder_send_descriptors(socket, $0.baseAddress, $0.count, descriptors, Int32(descriptors.count))
        } == message.count
    }

    /// The budget of a request sent now.
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
            // Codecs have threads, so processor time may pass faster than the clock. Rounded up, so that the last waits
            // are no busy loop.
            let milliseconds = min(left, max(spare / 4, .milliseconds(10))) / .milliseconds(1) + 1
            guard Glibc.poll(&watched, 1, Int32(min(milliseconds, 1e9))) > 0 else { continue }
            var none = Int32(0)
            let length = larder_receive_descriptors(socket, room.bytes.baseAddress, room.bytes.count, nil, &none)
            return length > 0 ? .message(Array(room.bytes.prefix(length))) : .closed
        }
    }

    /// Processor time of all threads since the start; zero after the end.
    private var processorTime: Duration { .nanoseconds(max(0, larder_processor_time(process.processID))) }

    /// The last line on standard error since the last message; nil for none.
    func lastErrorLine() -> String? { errors.takeLastLine() }

    /// How the process ended after its socket closed; nil if it still runs. Waits up to 5 s: on a busy machine the exit
    /// takes time, and a signal sent meanwhile would look like the cause.
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
    /// A system call failed, so there is no child: 501 if the machine lacks descriptors, memory or processes, otherwise
    /// 301, which is not the image's fault.
    static func noChild(_ what: String, _ number: Int32) -> TranscodeError {
        let shortage = MachineShortage.reason(number, startsProcess: true)
        return TranscodeError(
            shortage == nil ? .died : .localFault, "\(what) (errno \(number))", countsTowardPoison: false)
    }
}
