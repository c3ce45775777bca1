private import CGLib

/// An incremental SHA-256.
struct SHA256: ~Copyable {
    private let checksum: OpaquePointer

    init() {
        guard let checksum = g_checksum_new(G_CHECKSUM_SHA256) else {
            preconditionFailure("GLib implements G_CHECKSUM_SHA256")
        }
        self.checksum = checksum
    }

    deinit { g_checksum_free(checksum) }

    /// The corresponding C function is `g_checksum_update`.
    func update(_ bytes: UnsafeRawBufferPointer) {
        g_checksum_update(checksum, bytes.bindMemory(to: UInt8.self).baseAddress, gssize(bytes.count))
    }

    /// 64 lower-case hexadecimal digits (`g_checksum_get_string`).
    consuming func finish() -> String { g_checksum_get_string(checksum).map { String(cString: $0) } ?? "" }
}

extension OpenFile {
    /// The SHA-256 of the file as 64 lower-case hexadecimal digits. Blocks.
    public func sha256() throws(StoreError) -> String {
        let digest = SHA256()
        try forEachBlock { bytes in digest.update(bytes) }
        return digest.finish()
    }

    /// Reads the file in blocks of 256 KiB.
    func forEachBlock(_ body: (UnsafeRawBufferPointer) throws(StoreError) -> Void) throws(StoreError) {
        var offset = 0
        while true {
            let block = try bytes(1 << 18, at: offset)
            if block.isEmpty { return }
            try block.withBytes(body)
            offset += block.count
        }
    }
}
