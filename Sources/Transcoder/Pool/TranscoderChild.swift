internal import Concurrency
private import Glibc
internal import ImageModel

/// One child of the pool, with a thread that blocks on it. The process is started on demand and replaced when it dies.
actor TranscoderChild {
    /// The state of the process. An interrupt kills it only in `sending` and `working`.
    ///
    ///     none → idle        it was started
    ///     idle → sending     a request is about to be sent
    ///     sending → working  the request was sent
    ///     sending → none     it had died while idle, and the request starts another one; or the task was cancelled
    ///     working → idle     it replied
    ///     working → none     it died, exceeded a limit or was killed; `idle` for a moment, until it is discarded
    ///     idle → none        it is recycled: it has served enough images, holds too much memory, or was killed late
    private enum ChildState {
        case none, idle, sending, working
    }

    /// The state that other threads read.
    private struct ChildSlot {
        var process: Int32?
        /// The coder's process for the current request.
        var coder: Int32?
        var state = ChildState.none
        /// A process was killed during the current request and may still run.
        var isKilled = false
        /// No process is started again.
        var isShutDown = false
        var counts = ChildCounts()
    }

    private let configuration: TranscoderPool.Configuration
    private let program: TranscoderProgram
    private let memory: AsyncSemaphore
    private nonisolated let thread = EventLoop(name: "transcoder")
    private nonisolated let slot = Locked(ChildSlot())
    private var process: RunningChild?
    private var runningCoder: RunningCoder?
    private var requests: UInt64 = 0
    /// The last request's variants and their JSON.
    private var last: (variants: [Variant], text: String) = ([], "[]")
    private var budget: RunningChild.Budget?
    private var progress = ChildProgress(variants: 0)

    /// - Parameter memory: memory for all children's images, one permit per `MemoryUnit`.
    init(configuration: TranscoderPool.Configuration, program: TranscoderProgram, memory: AsyncSemaphore) {
        self.configuration = configuration
        self.program = program
        self.memory = memory
    }

    deinit { thread.stop() }

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    /// Nil without a process.
    nonisolated var processID: Int32? { slot.withLock { $0.process } }

    nonisolated var isWorking: Bool { slot.withLock { $0.state == .working } }

    /// Counts since the pool was created.
    nonisolated var counts: ChildCounts { slot.withLock { $0.counts } }

    /// Kills the process if it has a request or is about to get one; the request then fails.
    ///
    /// A process that has just replied is not killed: its next request may be another caller's.
    ///
    /// - Parameter forever: no process is started again.
    nonisolated func interrupt(forever: Bool = false) {
        // Under the lock, so that the id cannot be reaped and reused.
        slot.withLock { slot in
            slot.isShutDown = slot.isShutDown || forever
            if let coder = slot.coder {
                slot.isKilled = true
                kill(coder, SIGKILL)
            }
            guard let process = slot.process, slot.state == .sending || slot.state == .working else { return }
            slot.isKilled = true
            kill(process, SIGKILL)
        }
    }

    /// Ends the process and waits for its end.
    func stop() { discard() }

    /// Sends one request and returns its reply; one call at a time. If a coder is registered for the original, its
    /// picture is sent instead.
    ///
    /// If the child is lost after decoding, finished variants remain and the others get the error. Fails with 205, 206
    /// or 301 if it is lost earlier, with 2002 if the task is cancelled.
    func answer(
        _ operation: ChildRequest.Operation, _ request: TranscodeRequest?, descriptors: [Int32]
    ) async -> Result<ChildReply, TranscodeError> {
        let picture: CoderPicture?
        do throws(TranscodeError) { picture = try await self.picture(of: descriptors.first, request) } catch {
            return .failure(error)
        }
        let result: Result<ChildReply, TranscodeError>
        do throws(TranscodeError) {
            requests += 1
            progress = ChildProgress(variants: request?.variants.count ?? 0)
            let variants = text(of: request?.variants ?? [])
            var content = ChildRequest(operation, number: requests, request, variants: variants)
            content.coder = picture?.coder
            let message = try content.message()
            guard message.count <= ChildRequest.maxLength else {
                return .failure(TranscodeError(.transform, "the variants are too long for one message"))
            }
            if let original = picture?.descriptor ?? descriptors.first {
                let source = try ReadOnlySource(original)
                try send(message, [source.descriptor] + descriptors.dropFirst())
            } else {
                try send(message, [])
            }
            slot.withLock { $0.state = .working }
            var reply = try await reply()
            if let picture {
                reply.processorTime += picture.processorTime
                reply.failure = reply.failure.map { $0.ofPicture(by: picture.coder) }
            }
            result = .success(reply)
        } catch {
            result = .failure(error)
        }
        let isKilled = slot.withLock { slot in
            if slot.state != .none { slot.state = .idle }
            slot.counts.add(result)
            defer { slot.isKilled = false }
            return slot.isKilled
        }
        switch result {
        case .success(let reply):
            recycle(after: reply, isKilled: isKilled)
            return result
        case .failure(let error):
            discard()
            if Task.isCancelled { return .failure(TranscodeError(.cancelled, "cancelled")) }
            if isKilled { return .failure(TranscodeError(.cancelled, "the transcoders are shut down")) }
            return progress.reply(after: error).map { .success($0) } ?? result
        }
    }

    /// A coder's picture of the original; nil if no coder is registered for it.
    private func picture(
        of original: Int32?, _ request: TranscodeRequest?
    ) async throws(TranscodeError) -> CoderPicture? {
        let limits = configuration.limits
        guard let original, request?.isPartial != true,
            let coder = try limits.coder(named: request?.coder, ofFile: original)
        else { return nil }
        let permits = min(MemoryUnit.count(limits.memoryBytes + CoderLaunch.programBytes), memory.permits)
        guard await memory.acquire(permits) else { throw TranscodeError(.cancelled, "cancelled") }
        defer { memory.release(permits) }
        do throws(TranscodeError) { return try run(coder, original) } catch {
            let isKilled = slot.withLock { slot in
                defer { slot.isKilled = false }
                return slot.isKilled
            }
            if Task.isCancelled { throw TranscodeError(.cancelled, "cancelled") }
            throw isKilled ? TranscodeError(.cancelled, "the transcoders are shut down") : error
        }
    }

    /// Runs a coder's program; blocks the thread.
    private func run(_ coder: ImageCoder, _ original: Int32) throws(TranscodeError) -> CoderPicture {
        let picture = try CoderPicture(by: coder.name)
        let started = try RunningCoder(coder, original, picture.descriptor, configuration, try program.file())
        let id = started.process.processID
        runningCoder = consume started
        let isShutDown = slot.withLock { slot in
            slot.coder = id
            return slot.isShutDown
        }
        defer {
            slot.withLock { $0.coder = nil }
            runningCoder = nil
        }
        // Later interrupts find the process; earlier ones are checked here.
        guard !isShutDown, !Task.isCancelled else { throw TranscodeError(.cancelled, "the transcoders are shut down") }
        try runningCoder?.wait()
        picture.processorTime = runningCoder?.processorTime ?? .zero
        slot.withLock { $0.coder = nil }
        try runningCoder?.finish(picture.descriptor)
        return picture
    }

    private func text(of variants: [Variant]) -> String {
        if variants != last.variants { last = (variants, JSONValue.array(variants.map(\.json)).canonicalText) }
        return last.text
    }

    /// Sends the request. A process that died while idle is replaced: no image killed it.
    private func send(_ message: [UInt8], _ descriptors: [Int32]) throws(TranscodeError) {
        for isLast in [false, true] {
            try start()
            slot.withLock { $0.state = .sending }
            // Later interrupts find the state `sending`; earlier ones are checked here.
            if Task.isCancelled { throw TranscodeError(.cancelled, "cancelled") }
            budget = process?.budget(configuration.limits)
            if process?.send(message, descriptors) == true { return }
            let failure = errno
            discard()
            if isLast { throw TranscodeError.noChild("the child cannot be reached", failure) }
        }
    }

    private func start() throws(TranscodeError) {
        guard process == nil else { return }
        let started = try RunningChild(configuration, try program.file())
        let id = started.process.processID
        process = consume started
        let isShutDown = slot.withLock { slot in
            (slot.process, slot.state) = (id, .idle)
            slot.counts.started += 1
            return slot.isShutDown
        }
        if isShutDown {
            discard()
            throw TranscodeError(.cancelled, "the transcoders are shut down")
        }
    }

    /// The reply to the current request. Grants the memory that the child requests when enough is free.
    private func reply() async throws(TranscodeError) -> ChildReply {
        var granted = 0
        defer { if granted > 0 { memory.release(granted) } }
        while true {
            switch try receive() {
            case .reply(let reply): return progress.completed(reply)
            case .decoded(let header): progress.header = header
            case .finished(let variant, let outcome): progress.finish(variant, outcome)
            case .wantsMemory(let bytes):
                guard granted == 0, bytes > 0, bytes <= configuration.limits.memoryBytes else {
                    throw TranscodeError(.died, "the child requested memory twice, or more than its limit")
                }
                let permits = min(MemoryUnit.count(bytes), memory.permits)
                guard await memory.acquire(permits) else { throw TranscodeError(.cancelled, "cancelled") }
                granted = permits
                // The wait does not count.
                budget?.deadline = .now + configuration.limits.wallTime
                let grant = try ChildGrant(number: requests).message()
                guard process?.send(grant, []) == true else { throw death() }
            }
        }
    }

    /// Waits for a message; blocks the thread.
    private func receive() throws(TranscodeError) -> ChildMessage.Content {
        let limits = configuration.limits
        guard let budget else { throw death() }
        switch process?.receive(within: budget) {
        case .message(let bytes):
            let message = try ChildMessage(message: bytes)
            guard message.number == requests else { throw TranscodeError(.died, "the child answered another request") }
            guard message.content.isInBounds else {
                throw TranscodeError(.died, "the child answered with numbers that no image has")
            }
            return message.content
        case .overspent:
            throw TranscodeError(
                .time, "the image took more than \(limits.hardTime) of processor time", needs: [limits.moreTime])
        case .late:
            throw TranscodeError(
                .died, "the transcoder did not finish within \(limits.wallTime)", countsTowardPoison: false)
        case .closed, nil: throw death()
        }
    }

    /// The error for a process's exit status.
    private func death() -> TranscodeError {
        slot.withLock { $0.process = nil }
        guard process != nil else { return TranscodeError(.died, "there is no transcoder") }
        switch process?.exitStatus() {
        case .exited(ChildExit.memory):
            return TranscodeError(
                .memory, "the image needs more than \(configuration.limits.memoryBytes) bytes",
                needs: [configuration.limits.moreMemory])
        case .exited(ChildExit.otherVersion):
            let path = (try? program.file())?.path ?? "the transcoder"
            return TranscodeError(
                .localFault, "\(path) is of another version than the program that starts it", countsTowardPoison: false)
        case .signalled(let signal):
            return TranscodeError(.died, withErrorLine("signal \(signal) ended the transcoder"), signal: signal)
        case .exited(let code):
            return TranscodeError(.died, withErrorLine("the transcoder exited with code \(code)"))
        case nil:
            return TranscodeError(.died, "the transcoder closed its socket and did not exit")
        }
    }

    /// Appends the dead process's last line, usually the reason.
    private func withErrorLine(_ text: String) -> String {
        process?.lastErrorLine().map { "\(text): \($0)" } ?? text
    }

    /// Replaces a process that served enough images, holds too much memory, or was killed after it replied.
    private func recycle(after reply: ChildReply, isKilled: Bool) {
        process?.served += 1
        let hasServedEnough = (process?.served ?? 0) >= configuration.imagesPerChild
        let holdsTooMuch = reply.mustRecycle || reply.residentBytes > configuration.idleResidentBytes
        if isKilled || hasServedEnough || holdsTooMuch { discard() }
    }

    private func discard() {
        slot.withLock { ($0.process, $0.state) = (nil, .none) }
        process = nil
    }
}

/// Memory is reserved in units of 1 MiB.
enum MemoryUnit {
    /// At least 1.
    static func count(_ bytes: Int) -> Int { max(1, (bytes + 1 << 20 - 1) >> 20) }
}

extension TranscodeLimits {
    /// The coder with that name, else for the file's signature; nil if there is none.
    ///
    /// - Throws: `TranscodeError` 105 for an unknown name.
    fileprivate func coder(named name: String?, ofFile file: Int32) throws(TranscodeError) -> ImageCoder? {
        if let name {
            guard let coder = coder(named: name) else {
                throw TranscodeError(.notConfigured, "there is no coder '\(name)'")
            }
            return coder
        }
        guard !coders.isEmpty else { return nil }
        var prefix = [UInt8](repeating: 0, count: ImageFormat.recognisedBytes)
        let count = pread(file, &prefix, prefix.count, 0)
        return coder(of: prefix.prefix(max(0, count)))
    }
}

extension TranscodeError {
    /// The same error, for a coder's picture.
    fileprivate func ofPicture(by coder: String) -> TranscodeError {
        TranscodeError(
            code, "the picture of the coder '\(coder)': \(message)", signal: signal,
            countsTowardPoison: countsTowardPoison, needs: needs)
    }
}
