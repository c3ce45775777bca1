private import CCrypto
private import Glibc

/// Incremental SHA-256. Wraps `SHA256_CTX`.
package struct SHA256Digest: Sendable {
    private var state = SHA256_CTX()

    package init() { SHA256_Init(&state) }

    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        SHA256_Update(&state, bytes.baseAddress, bytes.count)
    }

    package consuming func finish() -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: 32)
        SHA256_Final(&digest, &state)
        return digest
    }

    /// An open file's digest, 64 hexadecimal digits; nil with `errno` if unreadable. Blocks.
    ///
    /// - Parameter range: a part of the file, by default all of it.
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

    /// 64 hexadecimal digits.
    package static func hex(of bytes: some Collection<UInt8>) -> String {
        var digest = SHA256Digest()
        Array(bytes).withUnsafeBytes { digest.update($0) }
        return hex(digest.finish())
    }

    /// Two lower-case digits per byte.
    package static func hex(_ bytes: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        text.reserveCapacity(2 * bytes.count)
        for byte in bytes {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }
}

/// HMAC-SHA256 (RFC 2104). Wraps OpenSSL's `HMAC`.
package enum HMACSHA256 {
    /// 32 bytes; nil if OpenSSL is out of memory.
    package static func code(of message: [UInt8], key: [UInt8]) -> [UInt8]? {
        let code = [UInt8](unsafeUninitializedCapacity: Int(EVP_MAX_MD_SIZE)) { buffer, count in
            var length: UInt32 = 0
            let made = HMAC(
                EVP_sha256(), key, Int32(key.count), message, message.count, buffer.baseAddress, &length)
            count = made == nil ? 0 : Int(length)
        }
        return code.isEmpty ? nil : code
    }
}

/// MD5. Wraps OpenSSL's `MD5`.
package enum MD5Digest {
    /// 16 bytes.
    package static func of(_ bytes: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: Int(MD5_DIGEST_LENGTH))
        MD5(bytes, bytes.count, &digest)
        return digest
    }
}

extension BinaryInteger {
    /// At least `digits` hexadecimal digits, in lower case by default.
    package func hexadecimal(digits: Int, uppercase: Bool = false) -> String {
        let text = String(self, radix: 16, uppercase: uppercase)
        return String(repeating: "0", count: max(0, digits - text.utf8.count)) + text
    }
}
