private import CCompression

/// Compresses the body of a reply for `Content-Encoding: gzip`. The corresponding C type is `z_stream`.
package final class GzipEncoder {
    // Its state points back to it, so that it must not move.
    private let stream: UnsafeMutablePointer<z_stream>

    /// Nil when memory is short.
    package init?() {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        let result = deflateInit2_(
            stream, 4, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
        guard result == Z_OK else {
            stream.deallocate()
            return nil
        }
    }

    deinit {
        deflateEnd(stream)
        stream.deallocate()
    }

    /// The compressed bytes; the client can decode all that was given until now.
    package func encode(_ bytes: [UInt8], isLast: Bool) -> [UInt8] {
        var encoded: [UInt8] = []
        bytes.withUnsafeBufferPointer { source in
            stream.pointee.next_in = UnsafeMutablePointer(mutating: source.baseAddress)
            stream.pointee.avail_in = UInt32(source.count)
            repeat {
                let part = [UInt8](unsafeUninitializedCapacity: 64 << 10) { part, count in
                    stream.pointee.next_out = part.baseAddress
                    stream.pointee.avail_out = UInt32(part.count)
                    _ = deflate(stream, isLast ? Z_FINISH : Z_SYNC_FLUSH)
                    count = part.count - Int(stream.pointee.avail_out)
                }
                encoded += part
            } while stream.pointee.avail_out == 0
        }
        return encoded
    }
}
