private import CCrypto
private import Glibc

/// SHA-256 of bytes in pieces. The corresponding C type is `EVP_MD_CTX`.
package struct SHA256Digest: ~Copyable {
    private let context: OpaquePointer

    /// Nil only when memory is short.
    package init?() {
        guard let context = EVP_MD_CTX_new() else { return nil }
        guard EVP_DigestInit_ex(context, EVP_sha256(), nil) == 1 else {
            EVP_MD_CTX_free(context)
            return nil
        }
        self.context = context
    }

    deinit { EVP_MD_CTX_free(context) }

    package func update(_ bytes: UnsafeRawBufferPointer) { EVP_DigestUpdate(context, bytes.baseAddress, bytes.count) }

    /// The 32 bytes.
    package consuming func finish() -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: 32)
        EVP_DigestFinal_ex(context, &digest, nil)
        return digest
    }

    /// The digest of an open file, 64 hexadecimal digits; nil when it cannot be read. Blocks.
    package static func hex(ofFile file: Int32) -> String? {
        guard let digest = SHA256Digest() else { return nil }
        let piece = 256 << 10
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: piece, alignment: 16)
        defer { buffer.deallocate() }
        var offset: off_t = 0
        while true {
            let count = pread(file, buffer.baseAddress, piece, offset)
            guard count >= 0 else { return nil }
            if count == 0 { return hex(digest.finish()) }
            digest.update(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            offset += off_t(count)
        }
    }

    /// The digest of bytes, 64 hexadecimal digits; nil only when memory is short.
    package static func hex(of bytes: some Collection<UInt8>) -> String? {
        guard let digest = SHA256Digest() else { return nil }
        Array(bytes).withUnsafeBytes { digest.update($0) }
        return hex(digest.finish())
    }

    /// Two lower-case hexadecimal digits per byte.
    package static func hex(_ bytes: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}
