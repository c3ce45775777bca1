private import CCompression

/// Decoded bytes passed on at once.
private let partBytes = 64 << 10

/// Wraps `z_stream`.
final class InflateStage: DecodingStage {
    enum Container { case gzip, zlibOrRaw }

    // Heap-allocated: zlib's state points back to it, so it must not move.
    private let stream: UnsafeMutablePointer<z_stream>
    private let container: Container
    private var hasStarted = false
    private(set) var isComplete = false

    init(_ container: Container) {
        self.container = container
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
    }

    deinit {
        if hasStarted { inflateEnd(stream) }
        stream.deallocate()
    }

    func decode(_ piece: UnsafeRawBufferPointer, _ receive: (UnsafeRawBufferPointer) -> Bool) -> Bool {
        guard !isComplete, let first = piece.first else { return true }
        if !hasStarted {
            // Servers send `deflate` with and without zlib's header, whose low four bits are 8.
            let bits: Int32 = container == .gzip ? 15 + 16 : first & 15 == 8 ? 15 : -15
            guard inflateInit2_(stream, bits, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else {
                return false
            }
            hasStarted = true
        }
        stream.pointee.next_in = UnsafeMutablePointer(
            mutating: piece.baseAddress?.assumingMemoryBound(to: UInt8.self))
        stream.pointee.avail_in = UInt32(piece.count)
        return withUnsafeTemporaryAllocation(byteCount: partBytes, alignment: 16) { part in
            while true {
                stream.pointee.next_out = part.baseAddress?.assumingMemoryBound(to: UInt8.self)
                stream.pointee.avail_out = UInt32(part.count)
                let result = inflate(stream, Z_NO_FLUSH), count = part.count - Int(stream.pointee.avail_out)
                guard [Z_OK, Z_STREAM_END, Z_BUF_ERROR].contains(result) else { return false }
                if count > 0, !receive(UnsafeRawBufferPointer(rebasing: part[..<count])) { return true }
                if result == Z_STREAM_END { isComplete = true }
                if isComplete || stream.pointee.avail_out > 0 { return true }
            }
        }
    }
}

/// Wraps `BrotliDecoderState`.
final class BrotliStage: DecodingStage {
    private let state: OpaquePointer
    private(set) var isComplete = false

    /// Nil if out of memory.
    init?() {
        guard let state = BrotliDecoderCreateInstance(nil, nil, nil) else { return nil }
        self.state = state
    }

    deinit { BrotliDecoderDestroyInstance(state) }

    func decode(_ piece: UnsafeRawBufferPointer, _ receive: (UnsafeRawBufferPointer) -> Bool) -> Bool {
        guard !isComplete else { return true }
        var next = piece.baseAddress?.assumingMemoryBound(to: UInt8.self), left = piece.count
        return withUnsafeTemporaryAllocation(byteCount: partBytes, alignment: 16) { part in
            while true {
                var out = part.baseAddress?.assumingMemoryBound(to: UInt8.self), room = part.count
                let result = BrotliDecoderDecompressStream(state, &left, &next, &room, &out, nil)
                guard result != BROTLI_DECODER_RESULT_ERROR else { return false }
                let count = part.count - room
                if count > 0, !receive(UnsafeRawBufferPointer(rebasing: part[..<count])) { return true }
                if result == BROTLI_DECODER_RESULT_SUCCESS { isComplete = true }
                if result != BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT { return true }
            }
        }
    }
}

/// Wraps `ZSTD_DStream`.
final class ZstandardStage: DecodingStage {
    private let stream: OpaquePointer
    private(set) var isComplete = false

    /// Nil if out of memory.
    init?() {
        guard let stream = ZSTD_createDStream() else { return nil }
        self.stream = stream
    }

    deinit { ZSTD_freeDStream(stream) }

    func decode(_ piece: UnsafeRawBufferPointer, _ receive: (UnsafeRawBufferPointer) -> Bool) -> Bool {
        guard !isComplete else { return true }
        var source = ZSTD_inBuffer(src: piece.baseAddress, size: piece.count, pos: 0)
        return withUnsafeTemporaryAllocation(byteCount: partBytes, alignment: 16) { part in
            while true {
                var target = ZSTD_outBuffer(dst: part.baseAddress, size: part.count, pos: 0)
                let result = ZSTD_decompressStream(stream, &target, &source)
                guard ZSTD_isError(result) == 0 else { return false }
                if target.pos > 0, !receive(UnsafeRawBufferPointer(rebasing: part[..<target.pos])) { return true }
                // End of a frame.
                if result == 0 { isComplete = true }
                if isComplete || source.pos == source.size && target.pos < target.size { return true }
            }
        }
    }
}
