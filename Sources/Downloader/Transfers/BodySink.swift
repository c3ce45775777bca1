private import CLinux
private import Glibc

/// One receiver of a body: its file, its inspection and its progress.
///
/// Requests that share a transfer have one each. Every piece is written into each file as it arrives, so that each
/// request may be cancelled and its file renamed, changed or removed alone, and a failure such as a full disk concerns
/// one request only. Confined to the network thread.
final class BodySink {
    private static let recognisedBytes = 4096

    private let descriptor: Int32
    private let request: FetchRequest
    private let url: SourceURL
    private var throttle: ProgressThrottle
    /// Where the body begins in the file; nil for a pipe or a device.
    private let start: off_t?
    private var received: Int64 = 0
    /// The first bytes, until they are accepted.
    private var prefix: [UInt8] = []
    private var verdict = PrefixVerdict.unrecognised
    /// The error that ended it; nil while it receives the body.
    private(set) var failure: FetchError?

    init(_ request: FetchRequest, _ url: SourceURL, _ descriptor: Int32) {
        self.descriptor = descriptor
        self.request = request
        self.url = url
        throttle = ProgressThrottle(fraction: request.progressFraction, interval: request.progressInterval)
        let position = lseek(descriptor, 0, SEEK_CUR)
        start = position >= 0 ? position : nil
    }

    /// The request is about to be sent.
    func begin() { request.progress?(throttle.start) }

    /// The head of an accepted response has arrived.
    func head(expected: Int64?, at now: ContinuousClock.Instant) {
        if let progress = request.progress { progress(throttle.head(expected: expected, at: now)) }
    }

    func write(_ piece: UnsafeRawBufferPointer, expected: Int64?, at now: ContinuousClock.Instant) {
        guard failure == nil, inspect(piece), append(piece) else { return }
        received += Int64(piece.count)
        if let progress = request.progress, let step = throttle.piece(received: received, expected: expected, at: now) {
            progress(step)
        }
    }

    func end(expected: Int64?) {
        guard failure == nil else { return }
        if case .unrecognised = verdict { return fail(.badImageData, "the body is not an image (\(received) bytes)") }
        if let progress = request.progress, let step = throttle.end(received: received, expected: expected) {
            progress(step)
        }
    }

    /// Discards what was received: the body starts again.
    func restart() {
        guard failure == nil else { return }
        prefix = []
        verdict = .unrecognised
        if received == 0 { return }
        received = 0
        if !truncate() { failWrite() }
    }

    /// Copies what this sink has received into one that subscribes later; false when that is impossible.
    func copy(to late: BodySink) -> Bool {
        guard failure == nil, let start, late.start != nil, late.received == 0 else { return false }
        late.inspectStored(in: descriptor, from: start, count: received)
        guard late.failure == nil else { return true }
        var rest = Int(received)
        var position = Int64(start)
        // Shares the blocks where the file system can, otherwise copies within the kernel.
        while rest > 0 {
            let count = larder_copy_range(descriptor, &position, late.descriptor, rest)
            if count > 0 {
                rest -= count
            } else if count < 0 && errno == EINTR {
                continue
            } else if count < 0 && errno == ENOSPC {
                late.failWrite()
                return true
            } else {
                _ = late.truncate()
                return false
            }
        }
        late.received = received
        return true
    }

    // MARK: - Steps

    private func inspectStored(in source: Int32, from start: off_t, count: Int64) {
        let wanted = Int(min(count, Int64(inspectedBytes)))
        var bytes = [UInt8](repeating: 0, count: wanted)
        if wanted > 0, pread(source, &bytes, wanted, start) == wanted { _ = bytes.withUnsafeBytes { inspect($0) } }
    }

    private var inspectedBytes: Int { max(Self.recognisedBytes, request.inspectedBytes) }

    /// False when the body is refused.
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
        case .refused(let code, let message): fail(code, message)
        case .unrecognised, .undecided: break
        }
        return failure == nil
    }

    private func verdict(on bytes: UnsafeRawBufferPointer) -> PrefixVerdict {
        switch request.inspects(bytes) {
        case .unrecognised where bytes.count >= Self.recognisedBytes:
            .refused(.badImageData, "the body is not an image of an accepted format")
        case .undecided where bytes.count >= inspectedBytes: .accepted
        case let verdict: verdict
        }
    }

    private func append(_ piece: UnsafeRawBufferPointer) -> Bool {
        var rest = piece
        while let start = rest.baseAddress, !rest.isEmpty {
            let count = Glibc.write(descriptor, start, rest.count)
            if count < 0 {
                if errno == EINTR { continue }
                failWrite()
                return false
            }
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
        }
        return true
    }

    private func truncate() -> Bool {
        guard let start else { return false }
        return ftruncate(descriptor, start) == 0 && lseek(descriptor, start, SEEK_SET) >= 0
    }

    /// `errno` is that of the failed call.
    private func failWrite() {
        let code: FetchError.Code = LocalFault.reason(errno) == nil ? .writeFailed : .localFault
        fail(code, "the body cannot be written to \(path): \(Self.reason)")
    }

    private func fail(_ code: FetchError.Code, _ message: String) {
        failure = FetchError(code, "\(url): \(message)")
        prefix = []
    }

    /// The path of the file, for messages.
    private var path: String {
        let code = errno
        defer { errno = code }
        var buffer = [CChar](repeating: 0, count: 4096)
        let count = readlink("/proc/self/fd/\(descriptor)", &buffer, buffer.count)
        guard count > 0 else { return "its file" }
        return String(decoding: buffer.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    private static var reason: String {
        let code = errno
        return "\(String(cString: strerror(code))) (errno \(code))"
    }
}
