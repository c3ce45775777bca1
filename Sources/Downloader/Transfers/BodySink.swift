private import ImageModel

/// One receiver of a body: its file, inspection and progress.
///
/// Each request that shares a transfer has its own sink and file, so that a request may be cancelled and its file
/// renamed, changed or removed independently, and a failure such as a full disk affects one request. Confined to the
/// network thread; `BodyWriter` writes the file.
final class BodySink {
    private static let recognisedBytes = 4096

    private let writer: BodyWriter
    private let request: FetchRequest
    private let url: SourceURL
    private var throttle: ProgressThrottle
    private var received: Int64 = 0
    /// Bytes not passed to the writer yet.
    private var buffer: [UInt8] = []
    /// The writer's first piece, for sinks added later; nil before.
    private var firstPiece: [UInt8]?
    /// The first bytes, until accepted.
    private var prefix: [UInt8] = []
    private var verdict = PrefixVerdict.unrecognised
    /// An unknown `Content-Encoding`: the body is kept as it is if it is an image.
    private var unknownEncoding: String?
    /// The error that ended it; nil while it receives the body.
    private(set) var failure: FetchError?

    init(_ request: FetchRequest, _ url: SourceURL, _ writer: BodyWriter) {
        self.writer = writer
        self.request = request
        self.url = url
        throttle = ProgressThrottle(fraction: request.progressFraction, interval: request.progressInterval)
    }

    /// The request is about to be sent.
    func begin() { request.progress?(throttle.start) }

    /// The head of an accepted response has arrived.
    func head(expected: Int64?, unknownEncoding: String?, at now: ContinuousClock.Instant) {
        self.unknownEncoding = unknownEncoding
        if let progress = request.progress { progress(throttle.head(expected: expected, at: now)) }
    }

    /// Whether to pause the transfer until more of the body is written.
    func isFull(sharesConnection: Bool) -> Bool {
        failure == nil && writer.isFull(sharesConnection: sharesConnection)
    }

    /// The writer has failed, or `isFull` may have changed.
    func writerChanged() {
        if failure == nil, let error = writer.failure { end(with: error) }
    }

    func write(_ piece: UnsafeRawBufferPointer, expected: Int64?, at now: ContinuousClock.Instant) {
        guard failure == nil, inspect(piece) else { return }
        if buffer.isEmpty {
            buffer.reserveCapacity(min(Int(clamping: expected ?? .max), request.pieceBytes) + piece.count)
        }
        buffer.append(contentsOf: piece)
        received += Int64(piece.count)
        if buffer.count >= request.pieceBytes { flush() }
        if let progress = request.progress, let step = throttle.piece(received: received, expected: expected, at: now) {
            progress(step)
        }
    }

    func end(expected: Int64?) {
        guard failure == nil else { return }
        if case .unrecognised = verdict, received > 0 || !request.acceptsEmptyBody {
            return fail(.badImageData, "the body is not an image")
        }
        if let progress = request.progress, let step = throttle.end(received: received, expected: expected) {
            progress(step)
        }
    }

    /// Flushes or discards the rest, then calls `closed` with the file's failure, if any, when the file is no longer
    /// used.
    func close(discarding: Bool = false, _ closed: @escaping @Sendable (FetchError?) -> Void) {
        writer.close(discarding ? nil : buffer, closed)
        buffer = []
    }

    /// Discards received bytes: the body starts again.
    func restart() {
        guard failure == nil else { return }
        prefix = []
        verdict = .unrecognised
        received = 0
        buffer = []
        if firstPiece != nil { writer.restart() }
        firstPiece = nil
    }

    /// Copies received bytes to a sink added later; false if impossible.
    func copy(to late: BodySink) -> Bool {
        guard failure == nil, late.received == 0 else { return false }
        let first = firstPiece ?? buffer
        let written = received - Int64(buffer.count)
        if written > 0, first.count < late.inspectedBytes || !writer.canCopy(to: late.writer) { return false }
        if !first.isEmpty, !first.withUnsafeBytes({ late.inspect($0) }) { return true }
        if written > 0 { writer.copy(count: written, to: late.writer) }
        late.firstPiece = firstPiece
        late.buffer = buffer
        late.received = received
        return true
    }

    // MARK: - Steps

    private func flush() {
        if firstPiece == nil { firstPiece = request.mayShare ? buffer : [] }
        writer.write(buffer)
        buffer = []
    }

    private var inspectedBytes: Int { max(Self.recognisedBytes, request.inspectedBytes) }

    /// False if the body is refused.
    private func inspect(_ piece: UnsafeRawBufferPointer) -> Bool {
        if case .accepted = verdict { return true }
        let first = UnsafeRawBufferPointer(rebasing: piece.prefix(inspectedBytes - prefix.count))
        if prefix.isEmpty {
            verdict = verdict(on: first)
            if case .accepted = verdict { return true }
            prefix.append(contentsOf: first)
        } else {
            prefix.append(contentsOf: first)
            verdict = prefix.withUnsafeBytes { verdict(on: $0) }
        }
        switch verdict {
        case .accepted: prefix = []
        case .refused(let code, let message, let needs):
            fail(code, message, needs: needs)
        case .unrecognised, .undecided: break
        }
        return failure == nil
    }

    private func verdict(on bytes: UnsafeRawBufferPointer) -> PrefixVerdict {
        switch request.inspects(bytes) {
        case .unrecognised where bytes.count >= Self.recognisedBytes:
            .refused(.badImageData, "the body is not an image")
        case .undecided where bytes.count >= inspectedBytes: .accepted
        case let verdict: verdict
        }
    }

    private func fail(_ code: FetchError.Code, _ message: String, needs: [RequiredSetting] = []) {
        if code == .badImageData, let unknownEncoding {
            let text = "\(url): the Content-Encoding '\(unknownEncoding)' is not known, and \(message)"
            return end(with: FetchError(.badContentEncoding, text))
        }
        end(with: FetchError(code, "\(url): \(message)").needing(needs))
    }

    private func end(with error: FetchError) {
        failure = error
        prefix = []
    }
}
