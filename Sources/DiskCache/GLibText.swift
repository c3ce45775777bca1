private import CGLib

/// GLib's functions that return strings.
enum GLibText {
    /// 32 lower-case hexadecimal digits.
    static func md5(of bytes: some Collection<UInt8>) -> String { digest(of: bytes, G_CHECKSUM_MD5) }

    /// 40 lower-case hexadecimal digits.
    static func sha1(of bytes: some Collection<UInt8>) -> String { digest(of: bytes, G_CHECKSUM_SHA1) }

    /// Calls `g_compute_checksum_for_data`.
    private static func digest(of bytes: some Collection<UInt8>, _ type: GChecksumType) -> String {
        let digest = Array(bytes).withUnsafeBufferPointer {
            copy(g_compute_checksum_for_data(type, $0.baseAddress, gsize($0.count)))
        }
        guard let digest else { preconditionFailure("GLib implements this digest") }
        return digest
    }

    /// A lower-case UUID, version 4 (`g_uuid_string_random`).
    static func randomUUID() -> String {
        guard let text = copy(g_uuid_string_random()) else {
            preconditionFailure("GLib aborts when it runs out of memory")
        }
        return text
    }

    private static func copy(_ characters: UnsafeMutablePointer<CChar>?) -> String? {
        defer { g_free(characters) }
        return characters.map { String(cString: $0) }
    }
}
