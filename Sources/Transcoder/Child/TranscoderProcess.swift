private import CLinux
private import Glibc
internal import ImageModel

/// The child's side: the program behind the hidden command `transcoder`.
public enum TranscoderProcess {
    /// Answers requests from `socket` until it closes; the exit code of the process.
    ///
    /// Shuts the whole process in (memory, files, core dumps), so nothing else may run in it.
    public static func run(socket descriptor: Int32) -> Int32 {
        Sandbox.beforeLibraries()
        guard VipsLibrary.start(memoryExit: ChildExit.memory) else { return ChildExit.unfit }
        var writable = WritableFormats()
        guard var walls = Sandbox() else { return ChildExit.unfit }
        let socket = ChildSocket(descriptor)
        // x265 looks at the machine's processors when it first runs, and complains where it may not.
        _ = writable.formats(wanted: [.heic])
        // After every library is loaded and has opened what it needs; before another thread is there.
        _ = larder_shut_in()
        guard larder_exit_on_hangup(descriptor, ChildExit.orphaned) == 0 else { return ChildExit.unfit }
        while true {
            walls.openForRequest()
            guard let (message, descriptors) = socket.receive() else { return ChildExit.done }
            defer { for descriptor in descriptors { close(descriptor) } }
            guard let request = try? ChildRequest(message: message), request.version == ChildRequest.version else {
                return ChildExit.unfit
            }
            let started = walls.processorTime
            var reply = answer(request, descriptors, &walls, &writable) { bytes in
                // What needs much memory waits for its turn among all children.
                guard let message = try? ChildReply(number: request.number, askedBytes: bytes).message(),
                    socket.send(message), let (grant, _) = socket.receive()
                else { return false }
                return (try? ChildGrant(message: grant))?.number == request.number
            }
            reply.processorTime = walls.processorTime - started
            (reply.residentBytes, reply.peakResidentBytes) = walls.resident
            guard let bytes = try? reply.message(), socket.send(bytes) else { return ChildExit.done }
        }
    }

    private static func answer(
        _ request: ChildRequest, _ descriptors: [Int32], _ walls: inout Sandbox, _ writable: inout WritableFormats,
        admitted: (Int) -> Bool
    ) -> ChildReply {
        var reply = ChildReply(number: request.number)
        VipsLibrary.admit(request.limits.formats)
        if !request.limits.formats.isDisjoint(with: [.svg, .pdf]) { Sandbox.silence() }
        do throws(TranscodeError) {
            switch request.errand {
            case .selfTest:
                reply.codecs = CodecReport.measured(accepted: request.limits.formats)
                reply.codecs?.walls = SandboxTest.measured(memoryIsLimited: walls.limitsMemory(request.limits))
            case .probe, .plan, .transcode:
                try picture(request, descriptors, &walls, &writable, into: &reply, admitted: admitted)
            }
        } catch {
            reply.failure = ChildReply.Failure(error)
        }
        // Libraries report refused memory as bad data or as a failed encoding; what fails by rule is not its fault.
        let failures = [reply.failure] + reply.outcomes.map(\.failure)
        let failed = failures.contains { $0?.code == .undecodable || $0?.code == .encode }
        if failed && walls.isAtMemoryEnd(reply.header) {
            reply.failure = ChildReply.Failure(
                TranscodeError(.memory, "the picture needs more than \(request.limits.memoryBytes) bytes"))
        }
        reply.spent = walls.isWorn
        return reply
    }

    private static func picture(
        _ request: ChildRequest, _ descriptors: [Int32], _ walls: inout Sandbox, _ writable: inout WritableFormats,
        into reply: inout ChildReply, admitted: (Int) -> Bool
    ) throws(TranscodeError) {
        let wantedDescriptors = request.errand == .transcode ? request.variants.count + 1 : 1
        guard let source = descriptors.first, descriptors.count == wantedDescriptors else {
            throw TranscodeError(.died, "the request's descriptors do not fit its variants")
        }
        var variants: [Variant] = []
        for (index, json) in request.variants.enumerated() {
            do throws(VariantError) {
                variants.append(try Variant(json, path: "$.variants[\(index)]"))
            } catch {
                throw TranscodeError(.transform, error.description)
            }
        }
        let file = try SourceFile(descriptor: source)
        walls.shut(for: request.limits, sourceBytes: file.bytes.count)
        var job = PictureJob(request)
        let header = try job.header(of: file)
        reply.header = header
        guard request.errand != .probe else { return }
        let wanted = Set(variants.compactMap(\.format) + [header.format == .heif ? .heic : header.format])
        let known = writable.formats(wanted: wanted)
        reply.writable = known
        guard request.errand == .transcode else { return }
        let outputs = descriptors.dropFirst().map(OutputDescriptor.init)
        let plan = try job.plan(header, variants, writable: known)
        if plan.memoryBytes > ChildRequest.unaskedBytes {
            guard admitted(plan.memoryBytes) else { throw TranscodeError(.cancelled, "the pool has gone") }
            job.begin()
        }
        let product = try job.run(file, header, plan, variants: variants, outputs: outputs)
        reply.outcomes = product.outcomes.map(ChildReply.Outcome.init)
        reply.digest = product.digest
    }
}
