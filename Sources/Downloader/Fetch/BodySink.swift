private import CLinux
private import Glibc

/// One of those that a body is for: its file, its judges, its progress.
///
/// Requests that share a transfer have a recipient each. Every one gets each piece written into its own file as it comes,
/// so that any can leave at any time, and name, change or remove its file, without a word to the others; what fails one,
/// a full disk for instance, fails no other.
struct BodySink {
    private static let longestPrefix = 4096

    private let descriptor: Int32
    private let accepts: @Sendable (UnsafeRawBufferPointer) -> Bool?
    private let inspects: (@Sendable (UnsafeRawBufferPointer) -> PrefixVerdict)?
    private let inspectedBytes: Int
    private let progress: (@Sendable (FetchProgress) -> Void)?
    private var throttle: ProgressThrottle
    private let url: SourceURL
    /// Where the body begins in the file; nil for what is no file.
    private let beginning: off_t?
    private var received: Int64 = 0
    /// The first bytes while they do not suffice to tell what they are.
    private var prefix: [UInt8] = []
    private var isAccepted = false
    private var isInspected: Bool
    /// Why it takes no more.
    private(set) var failure: FetchError?

    init(_ request: FetchRequest) {
        descriptor = request.descriptor
        accepts = request.accepts
        inspects = request.inspects
        inspectedBytes = max(1, request.inspectedBytes)
        progress = request.progress
        throttle = ProgressThrottle(fraction: request.progressFraction, interval: request.progressInterval)
        url = request.url
        isInspected = request.inspects == nil
        let position = lseek(request.descriptor, 0, SEEK_CUR)
        beginning = position >= 0 ? position : nil
    }

    /// The request is about to be sent.
    func begins() { progress?(throttle.start) }

    /// The head of the answer is there.
    mutating func answered(expected: Int64?, at now: ContinuousClock.Instant) {
        guard let progress else { return }
        progress(throttle.answer(expected: expected, at: now))
    }

    /// A piece of the body.
    mutating func take(_ piece: UnsafeRawBufferPointer, expected: Int64?, at now: ContinuousClock.Instant) {
        guard failure == nil, judge(piece), write(piece) else { return }
        received += Int64(piece.count)
        if let progress, let word = throttle.piece(received: received, expected: expected, at: now) { progress(word) }
    }

    /// The body is complete.
    mutating func ends(expected: Int64?) {
        guard failure == nil else { return }
        if !isAccepted { return refuse(.badImageData, "the body is not an image (\(received) bytes)") }
        if let progress, let word = throttle.end(received: received, expected: expected) { progress(word) }
    }

    /// What came so far is void: the body begins again.
    mutating func startsAnew() {
        guard failure == nil else { return }
        prefix = []
        isAccepted = false
        isInspected = inspects == nil
        if received == 0 { return }
        received = 0
        guard let beginning, ftruncate(descriptor, beginning) == 0, lseek(descriptor, beginning, SEEK_SET) >= 0 else {
            return refuse(.writeFailed, "the body cannot be written anew to \(place): \(Self.reason)")
        }
    }

    /// Brings another one, which came late, as far as this one is; false when that cannot be done.
    func bring(_ late: inout BodySink) -> Bool {
        guard failure == nil, let beginning, late.beginning != nil, late.received == 0 else { return false }
        guard late.judgeStored(in: descriptor, from: beginning, count: received) else { return true }
        var rest = Int(received)
        var position = Int64(beginning)
        // Shares the blocks where the file system can, and else copies within the kernel.
        while rest > 0 {
            let count = larder_copy_range(descriptor, &position, late.descriptor, rest)
            if count > 0 {
                rest -= count
            } else if count < 0 && errno == EINTR {
                continue
            } else if count < 0 && errno == ENOSPC {
                late.refuse(.writeFailed, "the body cannot be written to \(late.place): \(Self.reason)")
                return true
            } else {
                return late.takeBack()
            }
        }
        late.received = received
        return true
    }

    // MARK: - Steps

    /// Leaves nothing behind of a copy that did not work out; always false.
    private func takeBack() -> Bool {
        if let beginning {
            ftruncate(descriptor, beginning)
            lseek(descriptor, beginning, SEEK_SET)
        }
        return false
    }

    /// Judges what another one has stored; false when it is refused.
    private mutating func judgeStored(in source: Int32, from start: off_t, count: Int64) -> Bool {
        guard count > 0 else { return true }
        let wanted = Int(min(count, Int64(max(inspectedBytes, Self.longestPrefix))))
        var bytes = [UInt8](repeating: 0, count: wanted)
        let got = pread(source, &bytes, wanted, start)
        guard got == wanted else { return true }
        return bytes.withUnsafeBytes { judge($0) }
    }

    private mutating func judge(_ piece: UnsafeRawBufferPointer) -> Bool {
        if isAccepted && isInspected { return true }
        let room = max(Self.longestPrefix, isInspected ? 0 : inspectedBytes)
        if prefix.isEmpty {
            judgePrefix(UnsafeRawBufferPointer(rebasing: piece.prefix(room)))
            let isOpen = failure == nil && !(isAccepted && isInspected)
            if isOpen { prefix.append(contentsOf: piece.prefix(room)) }
        } else {
            prefix.append(contentsOf: piece.prefix(max(0, room - prefix.count)))
            let collected = prefix
            collected.withUnsafeBytes { judgePrefix($0) }
        }
        if isAccepted && isInspected { prefix = [] }
        return failure == nil
    }

    private mutating func judgePrefix(_ bytes: UnsafeRawBufferPointer) {
        if !isAccepted {
            let first = UnsafeRawBufferPointer(rebasing: bytes.prefix(Self.longestPrefix))
            let verdict = accepts(first)
            if verdict == false || (verdict == nil && first.count >= Self.longestPrefix) {
                return refuse(.badImageData, "the body is not an image of an accepted format")
            }
            isAccepted = verdict == true
        }
        if isAccepted && !isInspected, let inspects {
            let seen = UnsafeRawBufferPointer(rebasing: bytes.prefix(inspectedBytes))
            switch inspects(seen) {
            case .accepted: isInspected = true
            case .undecided: isInspected = seen.count >= inspectedBytes
            case .refused(let code, let words): refuse(code, words)
            }
        }
    }

    private mutating func write(_ piece: UnsafeRawBufferPointer) -> Bool {
        var rest = piece
        while let start = rest.baseAddress, !rest.isEmpty {
            let count = Glibc.write(descriptor, start, rest.count)
            if count < 0 {
                if errno == EINTR { continue }
                refuse(.writeFailed, "the body cannot be written to \(place): \(Self.reason)")
                return false
            }
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
        }
        return true
    }

    /// The file's path, as the kernel tells it.
    private var place: String {
        let code = errno
        defer { errno = code }
        var buffer = [CChar](repeating: 0, count: 4096)
        let count = readlink("/proc/self/fd/\(descriptor)", &buffer, buffer.count)
        guard count > 0 else { return "its file" }
        return String(decoding: buffer.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// What `errno` says.
    private static var reason: String {
        let code = errno
        return "\(String(cString: strerror(code))) (errno \(code))"
    }

    private mutating func refuse(_ code: FetchError.Code, _ message: String) {
        failure = FetchError(code, "\(url): \(message)")
        prefix = []
    }
}
