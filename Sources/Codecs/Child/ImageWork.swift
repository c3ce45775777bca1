private import Glibc
package import ImageModel
package import Transcoder

/// Messages from a transcoder to the pool before its reply.
package protocol PoolEnd: ~Copyable {
    /// Waits until the pool grants memory for an image.
    func reserve(_ bytes: Int, for request: ChildRequest) throws(TranscodeError)
    func tell(_ content: ChildMessage.Content, of request: ChildRequest) throws(TranscodeError)
}

/// The work on successive images, without socket and sandbox.
package struct ImageWork {
    /// The formats that this machine can write.
    var writable: WritableFormats
    /// When the current request began, by `ProcessorClock`.
    private(set) var started = Duration.zero
    /// Variants of the current request that a library failed to draw.
    private(set) var failedDrawings: Set<Int> = []
    /// Memory for the current image that needs no further grant, in bytes.
    private var reserved = ChildRequest.unreservedBytes
    /// The last request's variants, parsed.
    private var last: (text: String, variants: [Variant]) = ("[]", [])

    /// Nil if libvips cannot start. It starts once per process.
    ///
    /// - Parameter memoryExit: the exit code if an allocation fails in GLib, which cannot report it.
    package init?(memoryExit: Int32) {
        guard VipsLibrary.start(memoryExit: memoryExit) else { return nil }
        writable = WritableFormats()
    }

    /// Unblocks the parsers of these formats, which are read on request, and blocks all other such parsers.
    package func allow(_ formats: Set<ImageFormat>) { VipsLibrary.allow(formats) }

    /// Answers a request for an image.
    ///
    /// - Parameters:
    ///   - descriptors: source, one output per variant, watermarks; the caller closes them.
    ///   - pool: receives the messages before the reply.
    /// - Throws: `TranscodeError` if nothing can be made.
    package mutating func perform(
        _ request: ChildRequest, _ limits: TranscodeLimits, _ descriptors: [Int32], _ reply: inout ChildReply,
        telling pool: borrowing some PoolEnd & ~Copyable
    ) throws(TranscodeError) {
        started = ProcessorClock.now
        (failedDrawings, reserved) = ([], ChildRequest.unreservedBytes)
        let variants = try parsed(request.variants)
        let count = request.operation == .transcode ? variants.count + 1 + request.watermarks.count : 1
        guard let source = descriptors.first, descriptors.count == count else {
            throw TranscodeError(.died, "there are not as many descriptors as variants")
        }
        let image = try opened(source, request, limits, pool), header = image.header
        reply.header = header
        guard request.operation != .probe else { return }
        reply.writable = writable.formats(
            wanted: Set(
                variants.flatMap { $0.automatic?.formats ?? [$0.format].compactMap(\.self) }
                    + [OutputFormat.written(header.format)]))
        guard request.operation == .transcode else {
            let chosen = variants.map { $0.drawn(of: header, request.options) }
            let plan = DecodePlan(
                header, variants: chosen.compactMap(\.self), scale: request.scale, limits: limits,
                writable: reply.writable)
            reply.plan = PlanSummary(plan, header, variants: variants, copies: chosen.map { $0 == nil })
            return
        }
        let outputs = descriptors.dropFirst().prefix(variants.count).map(OutputDescriptor.init)
        let marks = zip(request.watermarks, descriptors.suffix(request.watermarks.count))
        let watermarks = WatermarkImages(Dictionary(marks, uniquingKeysWith: { one, _ in one }), limits)
        try transcode(
            request, limits, image, zip(variants, outputs).map { (variant: $0, output: $1) }, watermarks, &reply,
            telling: pool)
    }

    private mutating func opened(
        _ descriptor: Int32, _ request: ChildRequest, _ limits: TranscodeLimits,
        _ pool: borrowing some PoolEnd & ~Copyable
    ) throws(TranscodeError) -> SourceImage {
        let file = try SourceFile(descriptor: descriptor)
        if request.isPartial {
            let whole = try PartialFile.completed(file.bytes, limits) { (bytes) throws(TranscodeError) in
                try reserve(bytes, for: request, pool)
            }
            guard let whole else { throw TranscodeError(.undecodable, "there is nothing to draw yet") }
            return try SourceImage(try SourceFile(copying: whole), limits)
        }
        guard let coder = request.coder else { return try SourceImage(file, limits) }
        var limits = limits
        limits.formats = [.png]
        guard let pam = try PAMImage(file.bytes, limits) else { return try SourceImage(file, limits, coder: coder) }
        let png: EncodedFile
        do throws(CodecFailure) { png = try pam.png(file.bytes) } catch {
            throw error.as(.undecodable, "the PAM cannot be read")
        }
        return try SourceImage(try SourceFile(copying: png.bytes), limits, coder: coder)
    }

    /// Waits for a grant of memory. There is one for each image.
    private mutating func reserve(
        _ bytes: Int, for request: ChildRequest, _ pool: borrowing some PoolEnd & ~Copyable
    ) throws(TranscodeError) {
        guard bytes > reserved else { return }
        guard reserved == ChildRequest.unreservedBytes else {
            throw TranscodeError(.memory, "the partial image needs more memory than was granted")
        }
        try pool.reserve(bytes, for: request)
        reserved = bytes
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
    /// - Throws: `TranscodeError` if none can be made: 1001, 205, 206.
    private mutating func transcode(
        _ request: ChildRequest, _ limits: TranscodeLimits, _ source: consuming SourceImage,
        _ wanted: [(variant: Variant, output: OutputDescriptor)], _ watermarks: WatermarkImages,
        _ reply: inout ChildReply, telling pool: borrowing some PoolEnd & ~Copyable
    ) throws(TranscodeError) {
        let header = source.header
        var limits = limits
        // Only the libvips path has RGB pixels.
        if request.wantsRawRGBA { limits.allowsPlanes = false }
        let chosen = wanted.map {
            $0.variant.drawn(of: header, request.options)
                ?? (request.isPartial ? $0.variant.thumbnailOfEveryFrame : nil)
        }
        let drawn = wanted.indices.filter { chosen[$0] != nil }
        let plan = DecodePlan(
            header, variants: chosen.compactMap(\.self), scale: request.scale, limits: limits,
            writable: reply.writable)
        try limits.checkMemory(plan.memoryBytes)
        try limits.checkTime(plan.decodingTime, "decoding")
        try reserve(plan.memoryBytes, for: request, pool)
        // Decode even if nothing is drawn: an undecodable file must not be stored as an image.
        let image = try decode(&source, plan, watermarks, &reply)
        try pool.tell(.decoded(header), of: request)
        var results: [Int: Result<TranscodedVariant, TranscodeError>] = [:]
        for index in wanted.indices where chosen[index] == nil {
            results[index] = copy(source.file, header, to: wanted[index].output)
        }
        for (number, index) in drawn.enumerated() {
            if case .failure(let error) = plan.outputs[number] { results[index] = .failure(error) }
        }
        for (index, result) in results { try pool.tell(.finished(index, ChildReply.Outcome(result)), of: request) }
        var writer = VariantWriter(plan, image, limits, wantsRawRGBA: request.wantsRawRGBA, started: started)
        for number in plan.encodingOrder {
            let index = drawn[number]
            let result = Result { () throws(TranscodeError) in try writer.write(number, to: wanted[index].output) }
            results[index] = result
            // Before the next variant begins, which may crash this process.
            try pool.tell(.finished(index, ChildReply.Outcome(result)), of: request)
        }
        reply.codecTime += writer.codecTime
        failedDrawings = Set(writer.failedDrawings.map { drawn[$0] })
        reply.outcomes = wanted.indices.compactMap { results[$0].map(ChildReply.Outcome.init) }
        if request.wantsDigest { reply.digest = try? image.digest() }
    }

    private func decode(
        _ source: inout SourceImage, _ plan: DecodePlan, _ watermarks: WatermarkImages, _ reply: inout ChildReply
    ) throws(TranscodeError) -> any DecodedImage {
        let format = source.header.format
        // Also for an undecodable image.
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

    /// Animations are not transformed by default: as in SDWebImage, the variant gets the original's bytes.
    private func copy(
        _ file: borrowing SourceFile, _ header: SourceHeader, to output: OutputDescriptor
    ) -> Result<TranscodedVariant, TranscodeError> {
        let bytes = file.bytes
        do throws(TranscodeError) {
            if let original = file.original() {
                let result = original.withUnsafeBytes { bytes in
                    Result { () throws(TranscodeError) in try output.write(bytes) }
                }
                try result.get()
            } else {
                try output.write(bytes)
            }
        } catch {
            return .failure(error)
        }
        let size = header.uprightSize
        return .success(
            TranscodedVariant(
                format: header.format, width: size.width, height: size.height, bytes: bytes.count, copied: true))
    }
}

/// The processor time of this process.
enum ProcessorClock {
    /// User and system time of all threads since the process started.
    static var now: Duration {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}

struct OutputDescriptor {
    private let number: Int32

    init(_ number: Int32) { self.number = number }

    /// Writes all bytes from offset 0.
    ///
    /// - Throws: `TranscodeError` 403, 501.
    func write(_ bytes: UnsafeRawBufferPointer) throws(TranscodeError) {
        var done = 0
        while done < bytes.count {
            let written = pwrite(number, bytes.baseAddress?.advanced(by: done), bytes.count - done, off_t(done))
            if written > 0 {
                done += written
            } else if written == 0 || errno != EINTR {
                let number = errno
                throw TranscodeError(
                    MachineShortage.reason(number) == nil ? .store : .localFault,
                    "the output cannot be written (errno \(number))")
            }
        }
    }
}
