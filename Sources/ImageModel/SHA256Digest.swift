private import CCrypto
private import Glibc

/// SHA-256 of bytes in pieces. The corresponding C type is `SHA256_CTX`.
package struct SHA256Digest: Sendable {
    private var state = SHA256_CTX()

    package init() { SHA256_Init(&state) }

    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        SHA256_Update(&state, bytes.baseAddress, bytes.count)
    }

    /// The 32 bytes.
    package consuming func finish() -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: 32)
        SHA256_Final(&digest, &state)
        return digest
    }

    /// The digest of an open file, 64 hexadecimal digits; nil, and `errno`, when it cannot be read. Blocks.
    ///
    /// - Parameter range: a part of the file, all of it by default.
    package static func hex(ofFile file: Int32, in range: Range<Int> = 0..<Int.max) -> String? {
        var digest = SHA256Digest()
        let piece = 256 << 10
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: piece, alignment: 16)
        defer { buffer.deallocate() }
        var offset = off_t(range.lowerBound)
        while true {
            let count = pread(file, buffer.baseAddress, min(piece, range.upperBound - Int(offset)), offset)
            if count < 0 && errno == EINTR { continue }
            guard count >= 0 else { return nil }
            if count == 0 { return hex(digest.finish()) }
            digest.update(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            offset += off_t(count)
        }
    }

    /// The digest of bytes, 64 hexadecimal digits.
    package static func hex(of bytes: some Collection<UInt8>) -> String {
        var digest = SHA256Digest()
        Array(bytes).withUnsafeBytes { digest.update($0) }
        return hex(digest.finish())
    }

    /// Two lower-case hexadecimal digits per byte.
    package static func hex(_ bytes: [UInt8]) -> String {
        bytes.map { $0.hexadecimal(digits: 2) }.joined()
    }
}
