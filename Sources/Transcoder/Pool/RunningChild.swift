private import CLinux
internal import Concurrency
private import Glibc

/// A started child with its end of the socket; dropping it closes the socket, kills and reaps the process.
struct RunningChild: ~Copyable {
    enum Answer {
        case message([UInt8])
        case timedOut
        case closed
    }

    /// A terminal's signals go to every process in front, a service manager's to all of the service. The child is to
    /// finish its picture: this process decides when to end, and the child ends with it.
    private static let meantForParent = [SIGHUP, SIGINT, SIGQUIT, SIGTERM]

    var process: ChildProcess
    var served = 0
    private let socket: Int32

    /// Starts a process.
    ///
    /// - Throws: `TranscodeError` 301.
    init(_ configuration: TranscoderPool.Configuration) throws(TranscodeError) {
        var sockets: [Int32] = [-1, -1]
        guard larder_packet_pair(&sockets) == 0 else {
            throw TranscodeError(.died, "there is no socket for the transcoder (errno \(errno))")
        }
        defer { close(sockets[1]) }
        do throws(SpawnError) {
            // Nothing of the parent's surroundings: no credentials, no settings.
            process = try ChildProcess(
                configuration.executable, configuration.arguments, environment: configuration.environment,
                descriptors: [-1, -1, 2, sockets[1]], blocked: Self.meantForParent)
        } catch {
            close(sockets[0])
            throw TranscodeError(.died, "\(error.program) cannot be started (errno \(error.code))")
        }
        socket = sockets[0]
    }

    deinit { close(socket) }

    /// Sends a request; false, with `errno`, when the child has gone.
    func send(_ message: [UInt8], _ descriptors: [Int32]) -> Bool {
        message.withUnsafeBytes {
            larder_send_descriptors(socket, $0.baseAddress, $0.count, descriptors, Int32(descriptors.count))
        } == message.count
    }

    /// Waits for the reply.
    func receive(within limit: Duration) -> Answer {
        let end = ContinuousClock.now + limit
        while true {
            let left = end - .now
            guard left > .zero else { return .timedOut }
            var watched = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
            // Rounded up, so that the last wait is not a busy one.
            let milliseconds = left / .milliseconds(1) + 1
            guard Glibc.poll(&watched, 1, Int32(min(milliseconds, 1e9))) > 0 else { continue }
            var message = [UInt8](repeating: 0, count: ChildRequest.longest)
            var none = Int32(0)
            let length = message.withUnsafeMutableBytes {
                larder_receive_descriptors(socket, $0.baseAddress, $0.count, nil, &none)
            }
            return length > 0 ? .message(Array(message.prefix(length))) : .closed
        }
    }

    /// How the process ended once its socket is closed; nil when it goes on without one, for which dropping it is the
    /// end. On a busy machine the last of an end can take its time, and a signal of ours would be taken for its cause.
    mutating func end() -> ExitStatus? {
        let patience = ContinuousClock.now + .seconds(5)
        while ContinuousClock.now < patience {
            if let status = process.poll() { return status }
            Glibc.poll(nil, 0, 10)
        }
        return nil
    }
}
