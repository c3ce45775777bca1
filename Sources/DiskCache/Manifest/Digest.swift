private import CGLib

/// A SHA-256 that grows with what it is given.
struct SHA256: ~Copyable {
    private let checksum: OpaquePointer

    init() {
        guard let checksum = g_checksum_new(G_CHECKSUM_SHA256) else {
            preconditionFailure("GLib computes every checksum that it names")
        }
        self.checksum = checksum
    }

    deinit { g_checksum_free(checksum) }

    /// Adds bytes. The corresponding C function is `g_checksum_update`.
    func update(_ bytes: UnsafeRawBufferPointer) {
        g_checksum_update(checksum, bytes.bindMemory(to: UInt8.self).baseAddress, gssize(bytes.count))
    }

    /// The digest of all that was added, as 64 lower-case hexadecimal digits; nothing may be added after it.
    consuming func finish() -> String { g_checksum_get_string(checksum).map { String(cString: $0) } ?? "" }
}

extension OpenFile {
    /// The SHA-256 of the whole file as 64 lower-case hexadecimal digits. Blocks.
    ///
    /// - Throws: `StoreError` when the file cannot be read.
    public func sha256() throws(StoreError) -> String {
        let digest = SHA256()
        var offset = 0
        while true {
            let block = try bytes(1 << 18, at: offset)
            if block.isEmpty { return digest.finish() }
            block.withUnsafeBytes { digest.update($0) }
            offset += block.count
        }
    }
}
