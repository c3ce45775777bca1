import Codecs
import Concurrency
package import ImageModel
public import Transcoder

/// Makes variants in this process, one image at a time: for tests of pictures and of what is done with them.
///
/// A child is what keeps a damaged file from ending its process, so files that may do so belong to a `TranscoderPool`.
/// Watermarks, grants of memory and time-outs are the pool's and the child's, too.
public struct DirectTranscoder: Transcoding {
    /// The limits of one image.
    public let limits: TranscodeLimits
    /// One image at a time.
    public let count = 1

    // One at a time, because libvips has one buffer of messages for the whole process.
    private static let thread = ThreadPool(name: "transcoder", threads: 1)
    private static let work = Locked(started())

    private static func started() -> ImageWork? {
        let work = ImageWork(memoryExit: 1)
        work?.allow(Set(ImageFormat.allCases))
        return work
    }

    /// Whether libvips has started, with every parser that some limits allow.
    public static let isReady = work.withLock { $0 != nil }

    /// - Parameter limits: the limits of one image; by default the pool's.
    public init(limits: TranscodeLimits = TranscodeLimits()) { self.limits = limits }

    /// As `TranscoderPool.transcode(failure:open:)`, without watermarks.
    public func transcode<Failure: Error>(
        failure: (TranscodeError) -> Failure, open: () throws(Failure) -> TranscodeRequest
    ) async throws(Failure) -> TranscodeReport {
        let request = try open()
        do throws(TranscodeError) {
            let reply = try await perform(.transcode, request, [request.source] + request.outputs)
            guard let header = reply.header else { throw TranscodeError(.died, "the reply has no header") }
            return TranscodeReport(
                source: header, variants: reply.outcomes.map(\.result), digest: reply.digest,
                processorTime: reply.processorTime, peakResidentBytes: 0)
        } catch {
            throw failure(error)
        }
    }

    /// The header of an image, as `TranscoderPool.probe` gives it.
    package func probe(_ source: Int32) async throws(TranscodeError) -> SourceHeader {
        guard let header = try await perform(.probe, nil, [source]).header else {
            throw TranscodeError(.died, "the reply has no header")
        }
        return header
    }

    /// The plan of variants, as `TranscoderPool.plan` gives it.
    package func plan(
        _ source: Int32, variants: [Variant], scale: Double = 1, options: TranscodeRequest.Options = []
    ) async throws(TranscodeError) -> PlanSummary {
        let outputs = variants.map { _ in Int32(-1) }
        let request = TranscodeRequest(
            source: source, variants: variants, outputs: outputs, scale: scale, options: options)
        guard let plan = try await perform(.plan, request, [source]).plan else {
            throw TranscodeError(.died, "the reply has no plan")
        }
        return plan
    }

    private func perform(
        _ operation: ChildRequest.Operation, _ request: TranscodeRequest?, _ descriptors: [Int32]
    ) async throws(TranscodeError) -> ChildReply {
        let variants = JSONValue.array((request?.variants ?? []).map(\.json)).canonicalText
        let message = ChildRequest(operation, number: 1, request, variants: variants)
        var limits = limits
        if let bytes = message.scaleDownBytes { limits.scaleDownBytes = bytes }
        return try await Self.thread.run { [limits] () throws(TranscodeError) in
            try Self.work.withLock { work throws(TranscodeError) in
                var reply = ChildReply()
                guard work != nil else { throw TranscodeError(.died, "libvips cannot start") }
                try work?.perform(message, limits, descriptors, &reply, telling: NoPool())
                return reply
            }
        }
    }
}

/// Grants all memory, and ignores what is told.
private struct NoPool: PoolEnd {
    func reserve(_ bytes: Int, for request: ChildRequest) {}
    func tell(_ content: ChildMessage.Content, of request: ChildRequest) {}
}
