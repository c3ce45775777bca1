private import CCrypto

/// HMAC with SHA-256 (RFC 2104). The corresponding C function is `HMAC`.
package enum HMACSHA256 {
    /// The 32 bytes of the code; nil when OpenSSL has no memory.
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
