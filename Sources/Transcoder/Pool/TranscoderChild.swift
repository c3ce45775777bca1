internal import Concurrency
private import Glibc
internal import ImageModel

/// One child of the pool, on a thread of its own that may block on it: started when needed, replaced when it dies.
actor TranscoderChild {
    /// What the process has to do with the request at hand.
    private enum ChildState {
        case none
        /// It is about to get it.
        case handing
        /// It has got it, and has not answered.
        case working
    }

    /// What other threads may know of the process.
    private struct ChildSlot {
        var process: Int32?
        var duty = ChildState.none
        /// It was killed over the request at hand, and may take a moment to die.
        var isKilled = false
        var isShut = false
    }

    private let configuration: TranscoderPool.Configuration
    private nonisolated let budget: MemoryBudget
    private nonisolated let thread = EventLoop(name: "transcoder")
    private nonisolated let seat = Locked(ChildSlot())
    private var process: RunningChild?
    private var requests: UInt64 = 0

    init(configuration: TranscoderPool.Configuration, budget: MemoryBudget) {
        self.configuration = configuration
        self.budget = budget
    }

    deinit { thread.stop() }

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    /// The process id while there is a process.
    nonisolated var processID: Int32? { seat.withLock { $0.process } }

    /// Whether the process has a request it has not answered.
    nonisolated var isAtWork: Bool { seat.withLock { $0.duty == .working } }

    /// Kills the process if it is at a request, from any thread: what waits for its answer then learns of its death.
    ///
    /// One that has just answered is left alone, for the next request may already be its own.
    ///
    /// - Parameter forever: nothing is started again.
    nonisolated func interrupt(forever: Bool = false) {
        // Under the lock, so that the id cannot have been reaped and given to somebody else.
        seat.withLock { seat in
            seat.isShut = seat.isShut || forever
            guard let process = seat.process, seat.duty != .none else { return }
            seat.isKilled = true
            kill(process, SIGKILL)
        }
        budget.wake()
    }

    /// Ends the process and waits for its end.
    func stop() { discard() }

    /// `exchange` with its error as a value.
    func answer(
        _ errand: ChildRequest.Operation, _ request: TranscodeRequest?, descriptors: [Int32]
    ) -> Result<ChildReply, TranscodeError> {
        Result { () throws(TranscodeError) in try exchange(errand, request, descriptors: descriptors) }
    }

    /// One request and its reply, blocking this child's thread.
    ///
    /// - Throws: `TranscodeError` 205, 206 or 301 when the child had to be given up, 2002 when the task was cancelled.
    private func exchange(
        _ errand: ChildRequest.Operation, _ request: TranscodeRequest?, descriptors: [Int32]
    ) throws(TranscodeError) -> ChildReply {
        requests += 1
        var limits = configuration.limits
        limits.scaleDownBytes = request?.scaleDownBytes ?? limits.scaleDownBytes
        let message = try ChildRequest(
            number: requests, errand: errand, variants: (request?.variants ?? []).map(\.json),
            scale: request?.scale ?? 1, transformsAnimated: request?.transformsAnimated ?? false,
            wantsDigest: request?.wantsDigest ?? false, givesPixels: request?.givesPixels ?? false, limits: limits
        ).message()
        guard message.count <= ChildRequest.longest else {
            throw TranscodeError(.transform, "the variants are too long to be handed over")
        }
        let answer = Result { () throws(TranscodeError) in
            try send(message, descriptors)
            seat.withLock { $0.duty = .working }
            return try reply()
        }
        let isKilled = seat.withLock { seat in
            seat.duty = .none
            defer { seat.isKilled = false }
            return seat.isKilled
        }
        switch answer {
        case .success(let reply):
            complete(after: reply, isKilled: isKilled)
            return reply
        case .failure(let error):
            discard()
            if Task.isCancelled { throw TranscodeError(.cancelled, "cancelled") }
            throw isKilled ? TranscodeError(.cancelled, "the transcoders are shut down") : error
        }
    }

    /// Hands the request to the process. One that died while it had nothing to do is replaced: no picture killed it.
    private func send(_ message: [UInt8], _ descriptors: [Int32]) throws(TranscodeError) {
        for isLast in [false, true] {
            try start()
            seat.withLock { $0.duty = .handing }
            // Interruptions from here on find a process at a request; those from before are seen here.
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

    /// The answer to the request at hand; a child that asks for memory first gets it when there is some.
    private func reply() throws(TranscodeError) -> ChildReply {
        var taken = 0
        defer { if taken > 0 { budget.giveBack(taken) } }
        while true {
            let reply = try receive()
            guard reply.number == requests else { throw TranscodeError(.died, "the child answered another request") }
            guard let bytes = reply.askedBytes else { return reply }
            guard taken == 0, bytes > 0, bytes <= configuration.limits.memoryBytes else {
                throw TranscodeError(.died, "the child asks for memory it may not have")
            }
            guard budget.take(bytes, isGivenUp: { seat.withLock { $0.isKilled } }) else {
                throw TranscodeError(.cancelled, "cancelled")
            }
            taken = bytes
            let grant = try ChildGrant(number: requests).message()
            guard process?.send(grant, []) == true else { throw death() }
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
        guard process != nil else { return TranscodeError(.died, "there is no transcoder") }
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
            return TranscodeError(.died, "the transcoder closed its socket and did not end")
        }
    }

    /// Replaces the process once it has served long enough, holds too much, or was killed too late to be stopped.
    private func complete(after reply: ChildReply, isKilled: Bool) {
        process?.served += 1
        let isWorn = (process?.served ?? 0) >= configuration.picturesPerChild
        if isKilled || isWorn || reply.spent || reply.residentBytes > configuration.idleResidentBytes { discard() }
    }

    private func discard() {
        seat.withLock { $0.process = nil }
        process = nil
    }
}
