private import CGLib

/// A text that GLib allocated, and the duty to free it.
struct GLibText: ~Copyable {
    private let characters: UnsafeMutablePointer<CChar>

    private init?(_ characters: UnsafeMutablePointer<CChar>?) {
        guard let characters else { return nil }
        self.characters = characters
    }

    deinit { g_free(characters) }

    /// The same text, owned by Swift.
    var string: String { String(cString: characters) }

    /// The MD5 of `bytes` as 32 lower-case hexadecimal digits.
    ///
    /// The corresponding C function is `g_compute_checksum_for_data`.
    static func md5(of bytes: some Collection<UInt8>) -> GLibText {
        let digits = Array(bytes).withUnsafeBufferPointer {
            g_compute_checksum_for_data(G_CHECKSUM_MD5, $0.baseAddress, gsize($0.count))
        }
        guard let digest = GLibText(digits) else { preconditionFailure("GLib computes every checksum that it names") }
        return digest
    }

    /// A host name in ASCII: labels with other characters as Punycode. Nil when the name has no such form.
    ///
    /// The corresponding C function is `g_hostname_to_ascii`.
    static func asciiHost(_ name: String) -> GLibText? {
        name.utf8.contains(0) ? nil : GLibText(g_hostname_to_ascii(name))
    }

    /// A random UUID (version 4) in lower case.
    ///
    /// The corresponding C function is `g_uuid_string_random`.
    static func randomUUID() -> GLibText {
        guard let text = GLibText(g_uuid_string_random()) else { preconditionFailure("GLib ends at lack of memory") }
        return text
    }
}
