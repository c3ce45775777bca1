internal import Concurrency
public import ImageModel

/// The transcoder children of one process: pictures go in as descriptors, variants come out in files.
///
/// A child that dies, hangs or grows too big is killed and replaced; it costs the picture it held and nothing else.
public final class TranscoderPool: Sendable {
    /// How children are started and when they are replaced.
    public struct Configuration: Sendable {
        /// Children at work at most, each with one picture; default 2.
        public var count = 2
        /// The program a child runs; default this program itself.
        public var executable = "/proc/self/exe"
        /// Its arguments; default the hidden command `transcoder`.
        public var arguments = ["transcoder"]
        /// All of its environment, `NAME=value`; default nothing of this process's.
        public var environment = ["LC_ALL=C", "SWIFT_BACKTRACE=enable=no"]
        /// What one picture may cost.
        public var limits = TranscodeLimits()
        /// Memory for all pictures at work together, in bytes: one that needs much waits until there is room. Default
        /// nil, three quarters of what the machine or its control group has.
        public var memoryBudget: Int?
        /// A child is replaced after this many pictures; default 500.
        public var picturesPerChild = 500
        /// A child that holds more memory than this between two pictures is replaced, in bytes; default 256 MiB.
        public var idleResidentBytes = 256 << 20

        /// The defaults.
        public init() {}
    }

    private struct State {
        var idle: [TranscoderChild] = []
        var all: [TranscoderChild] = []
        var isShut = false
    }

    private let configuration: Configuration
    private let permits: AsyncSemaphore
    private let budget: MemoryBudget
    private let state = Locked(State())

    /// Starts nothing yet: children come with the pictures.
    public init(configuration: Configuration = Configuration()) {
        precondition(configuration.picturesPerChild > 0, "a child must serve a picture")
        self.configuration = configuration
        permits = AsyncSemaphore(configuration.count)
        budget = MemoryBudget(total: configuration.memoryBudget ?? MemoryBudget.ofMachine)
    }

    /// Children at work at most.
    public var count: Int { configuration.count }

    /// The process ids of the children now alive.
    public var children: [Int32] { state.withLock { $0.all }.compactMap(\.processID) }

    /// How many children hold a picture now.
    public var atWork: Int { state.withLock { $0.all }.count(where: \.isAtWork) }

    /// Makes the variants of one picture. Waits for a child; how many wait is the callers' business.
    ///
    /// Cancelling the task kills the child.
    ///
    /// - Throws: `TranscodeError` when nothing could be made: 1001, 202…206, 301, or 2002 when cancelled. A variant
    ///   that failed alone is a failure in the report (203, 206, 401, 402, 403).
    public func transcode(_ request: TranscodeRequest) async throws(TranscodeError) -> TranscodeReport {
        let reply = try await ask(.transcode, request, descriptors: [request.source] + request.outputs)
        guard let header = reply.header, reply.outcomes.count == request.variants.count else {
            throw TranscodeError(.died, "the child's answer makes no sense")
        }
        return TranscodeReport(
            source: header, variants: reply.outcomes.map(\.result), digest: reply.digest,
            processorTime: reply.processorTime, peakResidentBytes: reply.peakResidentBytes)
    }

    /// Reads and checks a picture's header through a child.
    ///
    /// - Parameter source: the original, open for reading; it stays the caller's.
    /// - Throws: `TranscodeError` as `transcode` does.
    public func probe(_ source: Int32) async throws(TranscodeError) -> SourceHeader {
        guard let header = try await ask(.probe, nil, descriptors: [source]).header else {
            throw TranscodeError(.died, "the child's answer makes no sense")
        }
        return header
    }

    /// How the variants of a picture would be made, and about what that would cost; no pixel is decoded.
    ///
    /// - Parameters:
    ///   - source: the original, open for reading; it stays the caller's.
    ///   - scale, transformsAnimated: as in `TranscodeRequest`.
    /// - Throws: `TranscodeError` as `probe` does.
    public func plan(
        _ source: Int32, variants: [Variant], scale: Double = 1, transformsAnimated: Bool = false
    ) async throws(TranscodeError) -> PlanSummary {
        let request = TranscodeRequest(
            source: source, variants: variants, outputs: variants.map { _ in -1 }, scale: scale,
            transformsAnimated: transformsAnimated)
        let reply = try await ask(.plan, request, descriptors: [source])
        guard let header = reply.header else { throw TranscodeError(.died, "the child's answer makes no sense") }
        let copies = variants.map { $0.isCopy(of: header, transformsAnimated: transformsAnimated) }
        let plan = DecodePlan(
            header, variants: zip(variants, copies).filter { !$1 }.map(\.0), scale: scale,
            limits: configuration.limits, writable: reply.writable)
        return PlanSummary(plan, header, variants: variants, copies: copies)
    }

    /// What the codecs of this machine really do, for `larder doctor`.
    ///
    /// - Throws: `TranscodeError` 301 when no child can be started.
    public func selfTest() async throws(TranscodeError) -> CodecReport {
        guard let codecs = try await ask(.selfTest, nil, descriptors: []).codecs else {
            throw TranscodeError(.died, "the child's answer makes no sense")
        }
        return codecs
    }

    /// Kills all children and waits for their end. Requests at work and later ones end with 2002.
    public func shutdown() async {
        let all = state.withLock { state in
            state.isShut = true
            return state.all
        }
        for child in all { child.interrupt(forever: true) }
        for child in all { await child.stop() }
    }

    private func ask(
        _ errand: ChildRequest.Operation, _ request: TranscodeRequest?, descriptors: [Int32]
    ) async throws(TranscodeError) -> ChildReply {
        guard await permits.acquire() else { throw TranscodeError(.cancelled, "cancelled") }
        defer { permits.release() }
        guard let child = takeChild() else { throw TranscodeError(.cancelled, "the transcoders are shut down") }
        defer { state.withLock { $0.idle.append(child) } }
        // A Result, as cancellation handlers do not carry typed errors through.
        let result = await withTaskCancellationHandler {
            await child.answer(errand, request, descriptors: descriptors)
        } onCancel: {
            child.interrupt()
        }
        let reply = try result.get()
        if let failure = reply.failure { throw failure.error }
        return reply
    }

    /// The child that worked last, so that seldom-used ones stay unstarted; nil after `shutdown`.
    private func takeChild() -> TranscoderChild? {
        state.withLock { state in
            if state.isShut { return nil }
            if let child = state.idle.popLast() { return child }
            let child = TranscoderChild(configuration: configuration, budget: budget)
            state.all.append(child)
            return child
        }
    }
}
