private import CLinux
private import Glibc
internal import ImageModel
internal import Transcoder

/// The child process: everything that `larder-transcoder` does.
package enum TranscoderProcess {
    /// Answers requests from `socket` until it closes, and returns the exit code.
    ///
    /// Restricts the whole process (memory, files, core dumps), so nothing else may run in it.
    package static func run(socket descriptor: Int32) -> Int32 {
        // The pool executes the program by descriptor; without this the process name is the descriptor's number.
        larder_thread_set_name("larder-transcod")
        guard Sandbox.prepareProcess(), var work = ImageWork(memoryExit: ChildExit.memory) else {
            return ChildExit.unfit
        }
        guard let sandbox = Sandbox() else { return ChildExit.unfit }
        // Restrict before `formats`: it starts libvips's threads, which later work on images.
        Sandbox.restrictEarlyThreads()
        // x265 reads the machine's processors when it first runs, and fails if that is denied.
        _ = work.writable.formats(wanted: [.heic])
        var server = ChildServer(socket: ChildSocket(descriptor), sandbox: sandbox, work: work)
        return server.serve()
    }
}

/// Receives the setup, enters the sandbox, and answers successive requests.
private struct ChildServer: ~Copyable {
    let socket: ChildSocket
    var sandbox: Sandbox
    var work: ImageWork

    mutating func serve() -> Int32 {
        guard let (message, _) = socket.receive() else { return ChildExit.done }
        guard (try? ChildSetup.Version(message: message))?.version == ChildSetup.version else {
            return ChildExit.otherVersion
        }
        guard let setup = try? ChildSetup(message: message), sandbox.enter(setup.limits, socket: socket.descriptor),
            larder_exit_on_hangup(socket.descriptor, ChildExit.orphaned) == 0
        else { return ChildExit.unfit }
        work.allow(setup.limits.formats)
        while true {
            guard let (message, descriptors) = socket.receive() else { return ChildExit.done }
            defer { for descriptor in descriptors { close(descriptor) } }
            guard let request = try? ChildRequest(message: message) else { return ChildExit.unfit }
            let started = ProcessorClock.now
            var limits = setup.limits
            if let bytes = request.scaleDownBytes { limits.scaleDownBytes = bytes }
            var reply = answer(request, limits, setup.sandbox, descriptors)
            reply.processorTime = ProcessorClock.now - started
            sandbox.readMemory()
            reply.mustRecycle = sandbox.mustRecycle
            (reply.residentBytes, reply.peakResidentBytes) = sandbox.resident
            let last = ChildMessage(number: request.number, content: .reply(reply))
            guard let bytes = try? last.message(), socket.send(bytes) else { return ChildExit.done }
        }
    }

    private mutating func answer(
        _ request: ChildRequest, _ limits: TranscodeLimits, _ policy: SandboxPolicy, _ descriptors: [Int32]
    ) -> ChildReply {
        var reply = ChildReply()
        reply.sandbox = sandbox.level
        do throws(TranscodeError) {
            switch request.operation {
            case .abilities: reply.writable = work.writable.formats(wanted: Set(ImageFormat.outputs))
            case .selfTest:
                reply.codecs = CodecReport.measured(accepted: limits.formats)
                reply.codecs?.sandboxLevel = sandbox.level ?? .limitsOnly
                reply.codecs?.sandbox = SandboxTest.results(memoryIsLimited: sandbox.limitsMemory)
            case .transcode, .probe, .plan:
                try policy.check(sandbox.level)
                sandbox.beginImage()
                try work.perform(request, limits, descriptors, &reply, telling: socket)
            }
        } catch {
            reply.failure = error
        }
        if reply.hasCodecFailure(work.failedDrawings), sandbox.isOutOfMemory(reply.header) {
            reply.blameMemory(work.failedDrawings, limit: limits.memoryBytes)
        } else {
            reply.outcomes = []
        }
        switch request.operation {
        // Already sent, or only needed in the child.
        case .transcode, .plan: (reply.header, reply.writable) = (nil, [])
        case .probe, .selfTest, .abilities: break
        }
        return reply
    }
}

extension ChildReply {
    /// Whether a library failed to decode, draw or encode.
    ///
    /// - Parameter drawings: variants that a library failed to draw; all others were refused by a rule.
    func hasCodecFailure(_ drawings: Set<Int>) -> Bool {
        Self.isCodecs(failure)
            || outcomes.indices.contains { Self.isCodecs(outcomes[$0].error, isDrawing: drawings.contains($0)) }
    }

    /// If memory has run out, replaces the libraries' errors (bad data, failed drawing or encoding) by 205.
    mutating func blameMemory(_ drawings: Set<Int>, limit: Int) {
        let error = TranscodeError(
            .memory, "the image needs more than \(limit) bytes", needs: [.memory(limit * 2)])
        if Self.isCodecs(failure) { failure = error }
        for index in outcomes.indices where Self.isCodecs(outcomes[index].error, isDrawing: drawings.contains(index)) {
            outcomes[index] = .failed(error)
        }
    }

    private static func isCodecs(_ error: TranscodeError?, isDrawing: Bool = false) -> Bool {
        switch error?.code {
        case .undecodable, .encode: true
        case .transform: isDrawing
        default: false
        }
    }
}

/// Tests the restrictions of this child.
enum SandboxTest {
    /// Whether each restriction works, by name.
    static func results(memoryIsLimited: Bool) -> [String: Bool] {
        [
            "no network": isDenied { socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0) },
            "no files": isDenied { open("/dev/null", O_RDONLY | O_CLOEXEC) },
            "no programs": deniesPrograms, "no processes": larder_try_fork() < 0 && errno == EPERM,
            "memory limit": memoryIsLimited,
        ]
    }

    /// Whether a call that returns a descriptor is denied; closes a returned descriptor.
    private static func isDenied(_ call: () -> Int32) -> Bool {
        let descriptor = call()
        if descriptor >= 0 { close(descriptor) }
        return descriptor < 0 && (errno == EPERM || errno == EACCES)
    }

    /// Tries a program that does not exist, so that nothing starts if it is allowed.
    private static var deniesPrograms: Bool {
        var arguments: [UnsafeMutablePointer<CChar>?] = [nil]
        let result = execve("/nonexistent", &arguments, &arguments)
        return result < 0 && (errno == EPERM || errno == EACCES)
    }
}
