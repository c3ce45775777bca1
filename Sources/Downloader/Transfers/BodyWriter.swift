private import CLinux
internal import Concurrency
private import Glibc

/// Writes a body to its file on the threads of `BodyThreads`.
///
/// The network thread adds steps, which run in order, one at a time. While one runs, one more piece may wait; then the
/// writer is full and the transfer is paused. After a failure no further step runs.
final class BodyWriter: Sendable {
    private enum Step: Sendable {
        case write([UInt8])
        /// Copies the first bytes to another writer's file; its steps wait for this one.
        case copy(count: Int64, to: BodyWriter)
        /// Discards written bytes.
        case restart

        var bytes: Int { if case .write(let piece) = self { piece.count } else { 0 } }
        var isCopy: Bool { if case .copy = self { true } else { false } }
    }

    private struct State: Sendable {
        /// Steps that have not begun.
        var steps: [Step] = []
        /// Whether a thread runs steps or will, or another writer first copies into this file.
        var isBusy = false
        /// Whether a piece waits, so that the transfer must be paused.
        var isFull = false
        var failure: FetchError?
        var closed: (@Sendable (FetchError?) -> Void)?

        /// Adds a step; true if a thread must be started for it.
        mutating func add(_ step: Step) -> Bool {
            steps.append(step)
            defer { isBusy = true }
            return !isBusy
        }
    }

    private let descriptor: Int32
    private let url: SourceURL
    /// The body's start in the file; nil for a pipe or device.
    private let start: off_t?
    private let isReadable: Bool
    private let threads: BodyThreads
    private let state = Locked(State())
    private let changed: @Sendable () -> Void

    /// - Parameter changed: called when `isFull` or `failure` may have changed, on any thread.
    init(_ descriptor: Int32, _ url: SourceURL, _ threads: BodyThreads, changed: @escaping @Sendable () -> Void) {
        self.descriptor = descriptor
        self.url = url
        self.threads = threads
        self.changed = changed
        let position = lseek(descriptor, 0, SEEK_CUR)
        start = position >= 0 ? position : nil
        isReadable = fcntl(descriptor, F_GETFL) & O_ACCMODE != O_WRONLY
    }

    // MARK: - The network thread

    /// Whether to pause the transfer.
    ///
    /// - Parameter sharesConnection: libcurl 7.88.1 stops reading a connection while one of its streams is paused. So
    ///   such a transfer is paused only when the bodies of all transfers have too many bytes.
    func isFull(sharesConnection: Bool) -> Bool {
        state.withLock { $0.isFull } && (!sharesConnection || threads.isFull)
    }

    /// Why the file could not be written; nil without failure.
    var failure: FetchError? { state.withLock { $0.failure } }

    func write(_ piece: [UInt8]) {
        let (mustStart, isFull) = state.withLock { state in
            if state.failure != nil { return (false, false) }
            threads.wait(piece.count)
            let mustStart = state.add(.write(piece))
            if !mustStart { state.isFull = true }
            return (mustStart, state.isFull)
        }
        if mustStart { threads.run { self.run() } }
        if isFull { changed() }
    }

    /// Discards written bytes: the body starts again.
    func restart() {
        if state.withLock({ $0.add(.restart) }) { threads.run { self.run() } }
    }

    /// Whether this file's first bytes can be copied to another writer's file.
    func canCopy(to late: BodyWriter) -> Bool { start != nil && isReadable && late.start != nil }

    /// Copies the `count` bytes given to this writer to the file of an unused writer.
    func copy(count: Int64, to late: BodyWriter) {
        late.state.withLock { $0.isBusy = true }
        if state.withLock({ $0.add(.copy(count: count, to: late)) }) { threads.run { self.run() } }
    }

    /// Writes the last piece and calls `closed` with the failure, if any, when the file is no longer used: on one of
    /// the threads, or at once.
    ///
    /// - Parameter last: nil discards unwritten bytes.
    func close(_ last: [UInt8]?, _ closed: @escaping @Sendable (FetchError?) -> Void) {
        let (mustStart, isIdle, failure) = state.withLock { state in
            var mustStart = false
            if let last, !last.isEmpty, state.failure == nil {
                threads.wait(last.count)
                mustStart = state.add(.write(last))
            } else if last == nil, !state.steps.contains(where: \.isCopy) {
                for step in state.steps { threads.wait(-step.bytes) }
                state.steps = []
            }
            if state.isBusy { state.closed = closed }
            return (mustStart, !state.isBusy, state.failure)
        }
        if mustStart { threads.run { self.run() } }
        if isIdle { closed(failure) }
    }

    // MARK: - The threads

    private enum Turn: Sendable {
        case step(Step, hasRoomAgain: Bool, FetchError?)
        case end(FetchError?, (@Sendable (FetchError?) -> Void)?)
    }

    private func run() {
        while true {
            switch nextTurn() {
            case .step(let step, let hasRoomAgain, let failure):
                if hasRoomAgain { changed() }
                perform(step, after: failure)
            case .end(let failure, let closed):
                closed?(failure)
                return
            }
        }
    }

    private func nextTurn() -> Turn {
        state.withLock { state in
            guard !state.steps.isEmpty else {
                state.isBusy = false
                let closed = state.closed
                state.closed = nil
                return .end(state.failure, closed)
            }
            let step = state.steps.removeFirst()
            threads.wait(-step.bytes)
            let hasRoomAgain = state.isFull && !state.steps.contains { $0.bytes > 0 }
            if hasRoomAgain { state.isFull = false }
            return .step(step, hasRoomAgain: hasRoomAgain, state.failure)
        }
    }

    private func perform(_ step: Step, after failure: FetchError?) {
        switch step {
        case .write(let piece):
            if failure == nil, let number = piece.withUnsafeBytes({ write($0) }) { fail(number) }
        case .copy(let count, let late):
            if let failure {
                late.fail(with: failure)
            } else if let number = copy(count, into: late) {
                late.fail(number)
            }
            threads.run { late.run() }
        case .restart:
            if failure == nil, let number = truncate() { fail(number) }
        }
    }

    /// The error number; nil if everything was written.
    private func write(_ bytes: UnsafeRawBufferPointer) -> Int32? {
        var rest = bytes
        while let start = rest.baseAddress, !rest.isEmpty {
            let count = Glibc.write(descriptor, start, rest.count)
            if count < 0 {
                if errno == EINTR { continue }
                return errno
            }
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
        }
        return nil
    }

    private func truncate() -> Int32? {
        guard let start else { return ESPIPE }
        return ftruncate(descriptor, start) == 0 && lseek(descriptor, start, SEEK_SET) >= 0 ? nil : errno
    }

    /// Copies the first bytes to another file, in the kernel if possible: file systems may share the blocks.
    private func copy(_ count: Int64, into late: BodyWriter) -> Int32? {
        var rest = Int(count)
        var position = Int64(start ?? 0)
        var buffer: [UInt8] = []
        while rest > 0 {
            if buffer.isEmpty {
                let copied = larder_copy_range(descriptor, &position, late.descriptor, rest)
                if copied > 0 { rest -= copied }
                if copied > 0 || copied < 0 && errno == EINTR { continue }
                if copied < 0, LocalFault.reason(errno) != nil { return errno }
                // Not supported between these two files.
                buffer = [UInt8](repeating: 0, count: 64 << 10)
            }
            let read = pread(descriptor, &buffer, min(rest, buffer.count), off_t(position))
            if read < 0 && errno == EINTR { continue }
            guard read > 0 else { return read < 0 ? errno : EIO }
            if let number = buffer.withUnsafeBytes({ late.write(UnsafeRawBufferPointer(rebasing: $0[..<read])) }) {
                return number
            }
            position += Int64(read)
            rest -= read
        }
        return nil
    }

    private func fail(_ number: Int32) {
        let reason = "\(String(cString: strerror(number))) (errno \(number))"
        let code: FetchError.Code = LocalFault.reason(number) == nil ? .writeFailed : .localFault
        fail(with: FetchError(code, "\(url): the body cannot be written to \(path): \(reason)"))
    }

    private func fail(with failure: FetchError) {
        state.withLock { state in
            state.failure = failure
            state.isFull = false
        }
        changed()
    }

    /// The file's path, for messages.
    private var path: String {
        var buffer = [CChar](repeating: 0, count: 4096)
        let count = readlink("/proc/self/fd/\(descriptor)", &buffer, buffer.count)
        guard count > 0 else { return "its file" }
        return String(decoding: buffer.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
