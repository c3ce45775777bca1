private import CCrypto

/// MD5 of bytes. The corresponding C function is `MD5`.
package enum MD5Digest {
    /// The 16 bytes.
    package static func of(_ bytes: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: Int(MD5_DIGEST_LENGTH))
        MD5(bytes, bytes.count, &digest)
        return digest
    }
}
