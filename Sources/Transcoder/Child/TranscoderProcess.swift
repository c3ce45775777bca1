private import CLinux
private import Glibc

/// The child's side: the program behind the hidden command `transcoder`.
public enum TranscoderProcess {
    /// Answers requests from `socket` until it closes; the exit code of the process.
    ///
    /// Shuts the whole process in (memory, files, core dumps), so nothing else may run in it.
    public static func run(socket descriptor: Int32) -> Int32 {
        Walls.beforeLibraries()
        guard VipsLibrary.start(memoryExit: ChildExit.memory) else { return ChildExit.unfit }
        let canWriteHEIC = CodecReport.writes(.heic)
        guard var walls = Walls() else { return ChildExit.unfit }
        let socket = ChildSocket(descriptor)
        guard larder_exit_on_hangup(descriptor, ChildExit.orphaned) == 0 else { return ChildExit.unfit }
        while true {
            walls.openForRequest()
            guard let (message, descriptors) = socket.receive() else { return ChildExit.done }
            defer { for descriptor in descriptors { close(descriptor) } }
            guard let request = try? ChildRequest(message: message), request.version == ChildRequest.version else {
                return ChildExit.unfit
            }
            let started = walls.processorTime
            var reply = answer(request, descriptors, &walls, canWriteHEIC: canWriteHEIC)
            reply.processorTime = walls.processorTime - started
            (reply.residentBytes, reply.peakResidentBytes) = walls.resident
            guard let bytes = try? reply.message(), socket.send(bytes) else { return ChildExit.done }
        }
    }

    private static func answer(
        _ request: ChildRequest, _ descriptors: [Int32], _ walls: inout Walls, canWriteHEIC: Bool
    ) -> ChildReply {
        var reply = ChildReply(number: request.number)
        do throws(TranscodeError) {
            switch request.errand {
            case .selfTest:
                reply.codecs = CodecReport.measured()
            case .probe, .transcode:
                try picture(request, descriptors, &walls, canWriteHEIC: canWriteHEIC, into: &reply)
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
        _ request: ChildRequest, _ descriptors: [Int32], _ walls: inout Walls, canWriteHEIC: Bool,
        into reply: inout ChildReply
    ) throws(TranscodeError) {
        guard let source = descriptors.first, descriptors.count == request.variants.count + 1 else {
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
        let job = PictureJob(
            limits: request.limits, scale: request.scale, transformsAnimated: request.transformsAnimated,
            canWriteHEIC: canWriteHEIC)
        let header = try job.header(of: file)
        reply.header = header
        guard request.errand == .transcode else { return }
        let outputs = descriptors.dropFirst().map(OutputDescriptor.init)
        reply.outcomes = try job.run(file, header, variants: variants, outputs: outputs).map(ChildReply.Outcome.init)
    }
}
