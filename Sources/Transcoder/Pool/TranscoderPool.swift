internal import Concurrency
private import FoundationEssentials
public import ImageModel

/// The transcoder children of one process. Images and variants pass as open descriptors.
///
/// A child that dies, hangs or exceeds a limit is killed and replaced; only its image fails.
public final class TranscoderPool: Sendable {
    /// How children are started and when they are replaced.
    public struct Configuration: Sendable {
        /// Maximum children, each with one image at a time; 2 by default.
        public var count = 2
        /// The children's program; `larder-transcoder` by default, found as docs/library.md says.
        public var executable: String?
        /// Its arguments; none by default.
        public var arguments: [String] = []
        /// Its complete environment, `NAME=value`; nothing of this process's environment by default.
        public var environment = ["LC_ALL=C", "SWIFT_BACKTRACE=enable=no"]
        /// The directory of watermark files; nil by default.
        public var watermarks: String?
        /// The limits of one image.
        public var limits = TranscodeLimits()
        /// Whether to refuse images if the kernel lacks a part of the sandbox; `.required` by default.
        public var sandbox = SandboxPolicy.required
        /// Bytes of memory for all images together; an image waits until enough is free. Nil, the default, is three
        /// quarters of the memory of the machine or its control group.
        public var memoryBudget: Int?
        /// Images after which a child is replaced; 500 by default.
        public var imagesPerChild = 500
        /// Bytes of memory between two images above which a child is replaced; 256 MiB by default.
        public var idleResidentBytes = 256 << 20

        /// The defaults.
        public init() {}
    }

    private struct State {
        var idle: [TranscoderChild] = []
        var all: [TranscoderChild] = []
        var isShutDown = false
    }

    private let configuration: Configuration
    private let program: TranscoderProgram
    /// One permit per child. The holder uses an idle child or starts one.
    private let slots: AsyncSemaphore
    /// Memory for all children's images, in units of `MemoryUnit`.
    private let memory: AsyncSemaphore
    private let state = Locked(State())

    /// Creates a pool. The first images start the children.
    public init(configuration: Configuration = Configuration()) {
        precondition(configuration.imagesPerChild > 0, "a child must serve an image")
        self.configuration = configuration
        program = TranscoderProgram(configuration.executable)
        slots = AsyncSemaphore(configuration.count)
        let budget = configuration.memoryBudget ?? MachineMemory.budget(of: MachineMemory.bytes())
        memory = AsyncSemaphore(MemoryUnit.count(budget))
    }

    /// The most children.
    public var count: Int { configuration.count }

    /// Whether images are decoded in an incomplete sandbox.
    public var sandboxPolicy: SandboxPolicy { configuration.sandbox }

    /// The process ids of the running children.
    public var children: [Int32] { state.withLock { $0.all }.compactMap(\.processID) }

    /// Children that are working on an image.
    public var workingCount: Int { state.withLock { $0.all }.count(where: \.isWorking) }

    /// Counts of all children since the pool was created.
    package var counts: ChildCounts { state.withLock { $0.all }.map(\.counts).reduce(ChildCounts(), +) }

    /// Checks that the children's program exists.
    ///
    /// - Throws: `TranscodeError` 501 if it is missing or cannot be opened.
    public func requireProgram() throws(TranscodeError) { _ = try program.file() }

    /// Makes the variants of one image. Waits for a free child, then calls `open` for the request. At most `count`
    /// calls are between `open` and their return, which bounds the open outputs; the caller must bound the waiting
    /// calls.
    ///
    /// Cancelling the task kills the child.
    ///
    /// - Parameters:
    ///   - failure: converts a `TranscodeError` of an image without any result: 1001, 202…206, 301, 501, or 2002 if
    ///     cancelled. Failures of single variants are in the report (203…206, 401, 402, 403, 501).
    ///   - open: opens the outputs.
    /// - Throws: what `failure` returns and what `open` throws.
    public func transcode<Failure: Error>(
        failure: (TranscodeError) -> Failure, open: () throws(Failure) -> TranscodeRequest
    ) async throws(Failure) -> TranscodeReport {
        guard await slots.acquire() else { throw failure(TranscodeError(.cancelled, "cancelled")) }
        defer { slots.release() }
        var request = try open()
        let watermarks = WatermarkFiles(of: request.variants, in: configuration.watermarks)
        defer { withExtendedLifetime(watermarks) {} }
        request.watermarks = watermarks.names
        let descriptors = [request.source] + request.outputs + watermarks.descriptors
        do throws(TranscodeError) {
            let reply = try await exchange(.transcode, request, descriptors: descriptors)
            guard let header = reply.header, reply.outcomes.count == request.variants.count else {
                throw TranscodeError.malformedReply
            }
            return TranscodeReport(
                source: header, variants: reply.outcomes.map(\.result), digest: reply.digest,
                processorTime: reply.processorTime, peakResidentBytes: reply.peakResidentBytes, times: reply.times)
        } catch {
            throw failure(error)
        }
    }

    /// As `transcode(failure:open:)`, with outputs that are already open.
    public func transcode(_ request: TranscodeRequest) async throws(TranscodeError) -> TranscodeReport {
        try await transcode(failure: { $0 }, open: { () throws(TranscodeError) in request })
    }

    /// Reads and checks an image's header in a child.
    ///
    /// - Parameter source: the original, open for reading; stays the caller's.
    /// - Throws: `TranscodeError` as `transcode` does.
    package func probe(_ source: Int32) async throws(TranscodeError) -> SourceHeader {
        guard let header = try await perform(.probe, nil, descriptors: [source]).header else {
            throw TranscodeError.malformedReply
        }
        return header
    }

    /// Plans an image's variants and estimates their cost without decoding pixels.
    ///
    /// - Parameters:
    ///   - source: the original, open for reading; stays the caller's.
    ///   - scale, options: as in `TranscodeRequest`.
    /// - Throws: `TranscodeError` as `probe` does.
    package func plan(
        _ source: Int32, variants: [Variant], scale: Double = 1, options: TranscodeRequest.Options = []
    ) async throws(TranscodeError) -> PlanSummary {
        let request = TranscodeRequest(
            source: source, variants: variants, outputs: variants.map { _ in -1 }, scale: scale,
            options: options)
        let plan = try await perform(.plan, request, descriptors: [source]).plan
        guard let plan, plan.variants.count == variants.count else { throw TranscodeError.malformedReply }
        return plan
    }

    /// Tests this machine's codecs, for `larder doctor`.
    ///
    /// - Throws: `TranscodeError` 301 or 501 if no child can be started.
    package func selfTest() async throws(TranscodeError) -> CodecReport {
        guard let codecs = try await perform(.selfTest, nil, descriptors: []).codecs else {
            throw TranscodeError.malformedReply
        }
        return codecs
    }

    /// The children's sandbox level. Starts a child, which later images use.
    ///
    /// - Throws: `TranscodeError` 301 or 501 if no child can be started.
    public func sandboxLevel() async throws(TranscodeError) -> SandboxLevel {
        guard let level = try await perform(.abilities, nil, descriptors: []).sandbox else {
            throw TranscodeError.malformedReply
        }
        return level
    }

    /// Formats that a variant can name but this machine's libraries cannot write.
    ///
    /// - Throws: `TranscodeError` 301 or 501 if no child can be started.
    public func missingEncoders() async throws(TranscodeError) -> [ImageFormat] {
        let writable = try await perform(.abilities, nil, descriptors: []).writable
        return ImageFormat.outputs.filter { !writable.contains($0) }
    }

    /// Kills all children and waits for their end. Current and later requests fail with 2002.
    public func shutdown() async {
        let all = state.withLock { state in
            state.isShutDown = true
            return state.all
        }
        for child in all { child.interrupt(forever: true) }
        for child in all { await child.stop() }
    }

    private func perform(
        _ operation: ChildRequest.Operation, _ request: TranscodeRequest?, descriptors: [Int32]
    ) async throws(TranscodeError) -> ChildReply {
        guard await slots.acquire() else { throw TranscodeError(.cancelled, "cancelled") }
        defer { slots.release() }
        return try await exchange(operation, request, descriptors: descriptors)
    }

    /// Sends one request to an idle or new child. The caller holds a slot.
    private func exchange(
        _ operation: ChildRequest.Operation, _ request: TranscodeRequest?, descriptors: [Int32]
    ) async throws(TranscodeError) -> ChildReply {
        // Use the child that worked last, so that unneeded children are never started.
        let child = state.withLock { state -> TranscoderChild? in
            if state.isShutDown { return nil }
            if let child = state.idle.popLast() { return child }
            let child = TranscoderChild(configuration: configuration, program: program, memory: memory)
            state.all.append(child)
            return child
        }
        guard let child else { throw TranscodeError(.cancelled, "the transcoders are shut down") }
        defer { state.withLock { $0.idle.append(child) } }
        // A Result, as cancellation handlers do not pass on typed errors.
        let result = await withTaskCancellationHandler {
            await child.answer(operation, request, descriptors: descriptors)
        } onCancel: {
            child.interrupt()
        }
        let reply = try result.get()
        if let failure = reply.failure { throw failure }
        return reply
    }
}

extension TranscodeError {
    fileprivate static let malformedReply = TranscodeError(.died, "the child's reply is malformed")
}

/// Counts of a pool's child processes since it was created.
package struct ChildCounts: Sendable, Equatable {
    /// Processes started, including replacements.
    package var started = 0
    /// Processes lost with a request: died, hung or over a limit.
    package var lost = 0
    /// Processor time of answered requests.
    package var processorTime = Duration.zero
    /// The part spent on decoding, drawing and encoding.
    package var codecTime = Duration.zero

    mutating func add(_ result: Result<ChildReply, TranscodeError>) {
        switch result {
        case .success(let reply):
            processorTime += reply.processorTime
            codecTime += reply.codecTime
        case .failure: lost += 1
        }
    }

    static func + (one: ChildCounts, other: ChildCounts) -> ChildCounts {
        ChildCounts(
            started: one.started + other.started, lost: one.lost + other.lost,
            processorTime: one.processorTime + other.processorTime, codecTime: one.codecTime + other.codecTime)
    }
}

/// The memory of this machine, or of this process's control group.
package enum MachineMemory {
    /// In bytes: the lowest limit of the machine and its control groups; 4 GiB if unknown.
    ///
    /// - Parameter root: the directory used as `/`.
    package static func bytes(root: String = "") -> Int {
        let lines = (try? String(contentsOfFile: "\(root)/proc/meminfo", encoding: .utf8))?.split(separator: "\n")
        let name = "MemTotal:"
        let total = lines?.first { $0.hasPrefix(name) }?.dropFirst(name.count).split(separator: " ").first
        let machine = total.flatMap { Int($0) }.map { $0 * 1024 }
        return [machine, ControlGroup(root: root).memoryBytes].compactMap(\.self).min() ?? 4 << 30
    }

    /// Default of a pool's memory budget, in bytes.
    package static func budget(of bytes: Int) -> Int { bytes / 4 * 3 }
}

/// Makes the variants of images: a `TranscoderPool`, or a replacement.
public protocol Transcoding: Sendable {
    /// Maximum concurrent images.
    var count: Int { get }

    /// Makes the variants of one image, as `TranscoderPool.transcode(failure:open:)` does.
    func transcode<Failure: Error>(
        failure: (TranscodeError) -> Failure, open: () throws(Failure) -> TranscodeRequest
    ) async throws(Failure) -> TranscodeReport
}

extension TranscoderPool: Transcoding {}
