internal import Executors
private import Glibc

/// One child of the pool, on a thread of its own that may block on it: started when needed, replaced when it dies.
actor TranscoderChild {
    /// What other threads may know of the process.
    private struct Seat {
        var process: Int32?
        /// A request has been handed over and not been answered.
        var holdsRequest = false
        var isShut = false
    }

    private let configuration: TranscoderPool.Configuration
    private nonisolated let thread = DedicatedThread(name: "transcoder")
    private nonisolated let seat = Locked(Seat())
    private var process: RunningChild?
    private var requests: UInt64 = 0

    init(configuration: TranscoderPool.Configuration) { self.configuration = configuration }

    deinit { thread.stop() }

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    /// The process id while there is a process.
    nonisolated var processID: Int32? { seat.withLock { $0.process } }

    /// Whether the process has a request it has not answered.
    nonisolated var isAtWork: Bool { seat.withLock { $0.holdsRequest } }

    /// Kills the process, if there is one, from any thread: what waits for its answer then learns of its death.
    ///
    /// - Parameter forever: nothing is started again.
    nonisolated func interrupt(forever: Bool = false) {
        // Under the lock, so that the id cannot have been reaped and given to somebody else.
        seat.withLock { seat in
            seat.isShut = seat.isShut || forever
            if let process = seat.process { kill(process, SIGKILL) }
        }
    }

    /// Ends the process and waits for its end.
    func stop() { discard() }

    /// `exchange` with its error as a value.
    func answer(
        _ errand: ChildRequest.Errand, _ request: TranscodeRequest?, descriptors: [Int32]
    ) -> Result<ChildReply, TranscodeError> {
        Result { () throws(TranscodeError) in try exchange(errand, request, descriptors: descriptors) }
    }

    /// One request and its reply, blocking this child's thread.
    ///
    /// - Throws: `TranscodeError` 205, 206 or 301 when the child had to be given up, 2002 when the task was cancelled.
    private func exchange(
        _ errand: ChildRequest.Errand, _ request: TranscodeRequest?, descriptors: [Int32]
    ) throws(TranscodeError) -> ChildReply {
        requests += 1
        let message = try ChildRequest(
            number: requests, errand: errand, variants: (request?.variants ?? []).map(\.json),
            scale: request?.scale ?? 1, transformsAnimated: request?.transformsAnimated ?? false,
            limits: configuration.limits
        ).message()
        guard message.count <= ChildRequest.longest else {
            throw TranscodeError(.transform, "the variants are too long to be handed over")
        }
        do throws(TranscodeError) {
            try send(message, descriptors)
            seat.withLock { $0.holdsRequest = true }
            defer { seat.withLock { $0.holdsRequest = false } }
            let reply = try receive()
            guard reply.number == requests else { throw TranscodeError(.died, "the child answered another request") }
            settle(after: reply)
            return reply
        } catch {
            discard()
            throw Task.isCancelled ? TranscodeError(.cancelled, "cancelled") : error
        }
    }

    /// Hands the request to the process. One that died while it had nothing to do is replaced: no picture killed it.
    private func send(_ message: [UInt8], _ descriptors: [Int32]) throws(TranscodeError) {
        for isLast in [false, true] {
            try start()
            // Interruptions from here on find a process; those from before are seen here.
            if Task.isCancelled { throw TranscodeError(.cancelled, "cancelled") }
            let sent = process?.send(message, descriptors) ?? false
            if sent { return }
            let failure = errno
            discard()
            if isLast { throw TranscodeError(.died, "the child cannot be reached (errno \(failure))") }
        }
    }

    private func start() throws(TranscodeError) {
        guard process == nil else { return }
        let started = try RunningChild(configuration)
        let id = started.process.processID
        process = consume started
        let isShut = seat.withLock { seat in
            seat.process = id
            return seat.isShut
        }
        if isShut {
            discard()
            throw TranscodeError(.cancelled, "the transcoders are shut down")
        }
    }

    private func receive() throws(TranscodeError) -> ChildReply {
        let hardTime = configuration.limits.hardTime
        switch process?.receive(within: hardTime) {
        case .message(let bytes): return try ChildReply(message: bytes)
        case .timedOut: throw TranscodeError(.time, "the picture took longer than \(hardTime)")
        case .closed, nil: throw death()
        }
    }

    /// Why the process went, read from how it ended.
    private func death() -> TranscodeError {
        seat.withLock { $0.process = nil }
        switch process?.end() {
        case .exited(ChildExit.memory):
            return TranscodeError(
                .memory, "the picture needs more than \(configuration.limits.memoryBytes) bytes")
        case .signalled(SIGXCPU):
            return TranscodeError(.time, "the picture used up the child's processor time", signal: SIGXCPU)
        case .signalled(let signal):
            return TranscodeError(.died, "signal \(signal) ended the transcoder", signal: signal)
        case .exited(let code):
            return TranscodeError(.died, "the transcoder ended by itself with code \(code)")
        case nil:
            return TranscodeError(.died, "there is no transcoder")
        }
    }

    /// Replaces the process once it has served long enough or holds too much.
    private func settle(after reply: ChildReply) {
        process?.served += 1
        let isWorn = (process?.served ?? 0) >= configuration.picturesPerChild
        if isWorn || reply.spent || reply.residentBytes > configuration.idleResidentBytes { discard() }
    }

    private func discard() {
        seat.withLock { $0.process = nil }
        process = nil
    }
}
