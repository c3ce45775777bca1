private import CLinux
private import Glibc
private import ImageModel

/// The child process: the program behind the hidden command `transcoder`.
public enum TranscoderProcess {
    /// Answers requests from `socket` until it closes, and returns the exit code of the process.
    ///
    /// Restricts the whole process (memory, files, core dumps), so nothing else may run in it.
    public static func run(socket descriptor: Int32) -> Int32 {
        guard Sandbox.prepareProcess(), VipsLibrary.start(memoryExit: ChildExit.memory) else { return ChildExit.unfit }
        var writable = WritableFormats()
        guard let sandbox = Sandbox() else { return ChildExit.unfit }
        // libvips keeps the threads of the next call and uses them for images.
        Sandbox.restrictEarlyThreads()
        // x265 reads the machine's processors when it first runs, and fails when access is denied.
        _ = writable.formats(wanted: [.heic])
        var server = ChildServer(socket: ChildSocket(descriptor), sandbox: sandbox, writable: writable)
        return server.serve()
    }
}

/// Receives the setup, enters the sandbox, and answers one request after another.
private struct ChildServer: ~Copyable {
    let socket: ChildSocket
    var sandbox: Sandbox
    var writable: WritableFormats
    /// When the current request began, by `ProcessorClock`.
    var started = Duration.zero
    /// The variants of the current request that a library failed to draw.
    var failedDrawings: Set<Int> = []
    /// The variants of the last request, parsed.
    var last: (text: String, variants: [Variant]) = ("[]", [])

    mutating func serve() -> Int32 {
        guard let (message, _) = socket.receive() else { return ChildExit.done }
        guard let setup = try? ChildSetup(message: message), setup.version == ChildSetup.version,
            sandbox.enter(setup.limits, socket: socket.descriptor),
            larder_exit_on_hangup(socket.descriptor, ChildExit.orphaned) == 0
        else { return ChildExit.unfit }
        VipsLibrary.allow(setup.limits.formats)
        while true {
            guard let (message, descriptors) = socket.receive() else { return ChildExit.done }
            defer { for descriptor in descriptors { close(descriptor) } }
            guard let request = try? ChildRequest(message: message) else { return ChildExit.unfit }
            started = ProcessorClock.now
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
        failedDrawings = []
        do throws(TranscodeError) {
            switch request.operation {
            case .sandbox: break
            case .selfTest:
                reply.codecs = CodecReport.measured(accepted: limits.formats)
                reply.codecs?.sandboxLevel = sandbox.level ?? .limitsOnly
                reply.codecs?.sandbox = SandboxTest.results(memoryIsLimited: sandbox.limitsMemory)
            case .transcode, .probe, .plan:
                try policy.check(sandbox.level)
                try process(request, limits, descriptors, &reply)
            }
        } catch {
            reply.failure = error
        }
        if reply.hasCodecFailure(failedDrawings), sandbox.isOutOfMemory(reply.header) {
            reply.blameMemory(failedDrawings, limit: limits.memoryBytes)
        } else {
            reply.outcomes = []
        }
        // An earlier message said it, and only a plan needs the formats.
        if request.operation == .transcode { (reply.header, reply.writable) = (nil, []) }
        return reply
    }

    private mutating func process(
        _ request: ChildRequest, _ limits: TranscodeLimits, _ descriptors: [Int32], _ reply: inout ChildReply
    ) throws(TranscodeError) {
        let variants = try parsed(request.variants)
        let count = request.operation == .transcode ? variants.count + 1 + request.watermarks.count : 1
        guard let source = descriptors.first, descriptors.count == count else {
            throw TranscodeError(.died, "the number of descriptors is not that of the variants")
        }
        sandbox.beginImage()
        let image = try SourceImage(try SourceFile(descriptor: source), limits), header = image.header
        reply.header = header
        guard request.operation != .probe else { return }
        reply.writable = writable.formats(
            wanted: Set(
                variants.flatMap { $0.automatic?.formats ?? [$0.format].compactMap(\.self) }
                    + [OutputFormat.written(header.format)]))
        guard request.operation == .transcode else { return }
        let outputs = descriptors.dropFirst().prefix(variants.count).map(OutputDescriptor.init)
        let marks = zip(request.watermarks, descriptors.suffix(request.watermarks.count))
        let watermarks = WatermarkImages(Dictionary(marks, uniquingKeysWith: { one, _ in one }), limits)
        try transcode(
            request, limits, image, zip(variants, outputs).map { (variant: $0, output: $1) }, watermarks, &reply)
    }

    private mutating func parsed(_ text: String) throws(TranscodeError) -> [Variant] {
        if text == last.text { return last.variants }
        var variants: [Variant] = []
        do throws(VariantError) {
            guard case .array(let list) = try JSONValue.parse(Array(text.utf8)) else {
                throw VariantError(path: "$.variants", message: "is no list")
            }
            for (index, json) in list.enumerated() {
                variants.append(try Variant(json, path: "$.variants[\(index)]"))
            }
        } catch {
            throw TranscodeError(.transform, error.description)
        }
        last = (text, variants)
        return variants
    }

    /// Makes every variant and writes it to its output.
    ///
    /// - Throws: `TranscodeError` when none can be made: 1001, 205, 206.
    private mutating func transcode(
        _ request: ChildRequest, _ limits: TranscodeLimits, _ source: consuming SourceImage,
        _ wanted: [(variant: Variant, output: OutputDescriptor)], _ watermarks: WatermarkImages,
        _ reply: inout ChildReply
    ) throws(TranscodeError) {
        let header = source.header
        var limits = limits
        // Only libvips' path has red, green and blue.
        if request.wantsRawRGBA { limits.allowsPlanes = false }
        let chosen = wanted.map { $0.variant.drawn(of: header, request.options) }
        let drawn = wanted.indices.filter { chosen[$0] != nil }
        let plan = DecodePlan(
            header, variants: chosen.compactMap(\.self), scale: request.scale, limits: limits,
            writable: reply.writable)
        try limits.checkMemory(plan.memoryBytes)
        try limits.checkTime(plan.decodingTime, "decoding")
        if plan.memoryBytes > ChildRequest.unreservedBytes { try reserve(plan.memoryBytes, request) }
        // Also when nothing is drawn, because a file that does not decode must not be stored as an image.
        let image = try decode(&source, plan, watermarks, &reply)
        try tell(.decoded(header), request)
        var results: [Int: Result<TranscodedVariant, TranscodeError>] = [:]
        for index in wanted.indices where chosen[index] == nil {
            results[index] = copy(source.file.bytes, header, to: wanted[index].output)
        }
        for (number, index) in drawn.enumerated() {
            if case .failure(let error) = plan.outputs[number] { results[index] = .failure(error) }
        }
        for (index, result) in results { try tell(.finished(index, ChildReply.Outcome(result)), request) }
        var writer = VariantWriter(plan, image, limits, wantsRawRGBA: request.wantsRawRGBA, started: started)
        for number in plan.encodingOrder {
            let index = drawn[number]
            let result = Result { () throws(TranscodeError) in try writer.write(number, to: wanted[index].output) }
            results[index] = result
            // Before the next one begins, which may be the end of this process.
            try tell(.finished(index, ChildReply.Outcome(result)), request)
        }
        reply.codecTime += writer.codecTime
        failedDrawings = Set(writer.failedDrawings.map { drawn[$0] })
        reply.outcomes = wanted.indices.compactMap { results[$0].map(ChildReply.Outcome.init) }
        if request.wantsDigest { reply.digest = try? image.digest() }
    }

    /// Waits until the pool grants memory.
    private func reserve(_ bytes: Int, _ request: ChildRequest) throws(TranscodeError) {
        try tell(.wantsMemory(bytes), request)
        guard let (grant, _) = socket.receive(), try ChildGrant(message: grant).number == request.number else {
            throw TranscodeError(.cancelled, "the pool has ended")
        }
    }

    /// Sends a message before the reply.
    private func tell(_ content: ChildMessage.Content, _ request: ChildRequest) throws(TranscodeError) {
        guard socket.send(try ChildMessage(number: request.number, content: content).message()) else {
            throw TranscodeError(.cancelled, "the pool has ended")
        }
    }

    private func decode(
        _ source: inout SourceImage, _ plan: DecodePlan, _ watermarks: WatermarkImages, _ reply: inout ChildReply
    ) throws(TranscodeError) -> any DecodedImage {
        let format = source.header.format
        // Also of an image that cannot be decoded.
        let began = ProcessorClock.now
        defer { reply.codecTime = ProcessorClock.now - began }
        do throws(CodecFailure) {
            switch plan.path {
            case .planes: return try PlanarDecodedImage(plan, &source, watermarks)
            case .libvips: return try LibvipsDecodedImage(plan, source, watermarks)
            }
        } catch {
            throw error.as(.undecodable, "the \(format.name) cannot be decoded")
        }
    }

    /// An animation is not transformed by default: as in SDWebImage, the variant gets the original's bytes.
    private func copy(
        _ bytes: UnsafeRawBufferPointer, _ header: SourceHeader, to output: OutputDescriptor
    ) -> Result<TranscodedVariant, TranscodeError> {
        do throws(TranscodeError) {
            try output.write(bytes)
        } catch {
            return .failure(error)
        }
        let size = header.uprightSize
        return .success(
            TranscodedVariant(
                format: header.format, width: size.width, height: size.height, bytes: bytes.count, copied: true))
    }
}
