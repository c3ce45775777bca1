import Concurrency
import Dispatch
import Glibc
import Synchronization

/// A command that runs in the background, and is killed with its last reference.
public final class RunningCommand: Sendable {
    /// Its process id.
    public let processID: Int32
    private let child: Mutex<ChildProcess>
    private let output: UnnamedFile
    private let errors: UnnamedFile
    private let deadline: ContinuousClock.Instant
    // One thread for each: commands that wait for one another cannot starve each other of threads.
    private let pool = ThreadPool(name: "command", threads: 1)

    /// Starts `program`. Its input and outputs are files, so that neither side waits for the other.
    ///
    /// - Parameter limit: after which it is killed; only a failing test takes that long.
    public init(
        _ program: String, _ arguments: [String], environment: [String: String], input: [UInt8] = [],
        limit: Duration = .seconds(280)
    ) throws {
        output = try UnnamedFile()
        errors = try UnnamedFile()
        let given = try UnnamedFile(input)
        let started = try ChildProcess(
            program, arguments, environment: environment.map { "\($0.key)=\($0.value)" },
            descriptors: [given.descriptor, output.descriptor, errors.descriptor])
        processID = started.processID
        child = Mutex(started)
        deadline = .now + limit
    }

    /// Sends it a signal; nothing happens when it has ended.
    public func signal(_ signal: Int32) { child.withLock { $0.kill(signal) } }

    /// What it has written to standard output so far.
    public var outputSoFar: [UInt8] { output.bytes() }

    /// What it has written to standard error so far.
    public var errorsSoFar: [UInt8] { errors.bytes() }

    /// Waits until `condition` holds; false when the command ended or ran out of time before.
    ///
    /// For conditions that the command brings about: a line it writes, a row, a file.
    public func reaches(_ condition: @escaping @Sendable (RunningCommand) -> Bool) async -> Bool {
        var isMet = false
        _ = await reached(within: deadline - .now) {
            let hasEnded: Bool
            // In this order: the last thing that it did before its end counts.
            (hasEnded, isMet) = await pool.run { [self] in (child.withLock { $0.poll() } != nil, condition(self)) }
            return isMet || hasEnded
        }
        return isMet
    }

    /// Waits for its end, and kills it at its time limit.
    public func outcome() async -> CommandOutcome {
        // Weak: the queue keeps it until the deadline, also when it is cancelled.
        let end = DispatchWorkItem { [weak self] in self?.signal(SIGKILL) }
        DispatchQueue.global().asyncAfter(deadline: .now() + (deadline - .now).seconds, execute: end)
        let status = await pool.run { [self] in
            // Leaves it a zombie, so that its number stays its own while `signal` may use it.
            var info = siginfo_t()
            while waitid(P_PID, UInt32(processID), &info, WEXITED | WNOWAIT) < 0 && errno == EINTR {}
            return child.withLock { $0.wait() }
        }
        end.cancel()
        let ranOutOfTime = status == .signalled(SIGKILL) && ContinuousClock.now >= deadline
        var code: Int32?
        var signal: Int32?
        switch status {
        case .exited(let value): code = value
        case .signalled(let value): signal = value
        }
        return CommandOutcome(
            code: code, signal: signal, ranOutOfTime: ranOutOfTime, output: output.bytes(), errors: errors.bytes())
    }
}

/// A file without a name.
private struct UnnamedFile: ~Copyable, Sendable {
    struct Failure: Error { let code: Int32 }

    let descriptor: Int32

    /// A file that holds `bytes`, read from its beginning.
    init(_ bytes: [UInt8] = []) throws(Failure) {
        var path = Array("/tmp/larder-test-XXXXXX".utf8CString)
        descriptor = mkstemp(&path)
        guard descriptor >= 0 else { throw Failure(code: errno) }
        unlink(path)
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        var offset = 0
        while offset < bytes.count {
            let count = bytes[offset...].withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, off_t(offset)) }
            guard count > 0 else { throw Failure(code: errno) }
            offset += count
        }
    }

    deinit { close(descriptor) }

    func bytes() -> [UInt8] {
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_size > 0 else { return [] }
        let size = Int(status.st_size)
        return [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
            count = max(0, pread(descriptor, buffer.baseAddress, size, 0))
        }
    }
}
