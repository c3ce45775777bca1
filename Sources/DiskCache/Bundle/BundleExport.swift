private import ImageModel

/// Writes a store's files as a bundle, sorted by name and without owners: equal entries give equal bytes.
package struct BundleExport: Sendable {
    private let store: any ImageStore
    private let naming: any CacheNaming

    /// - Parameters:
    ///   - store: the source.
    ///   - naming: names in the bundle; nil, the default, keeps the store's.
    package init(_ store: any ImageStore, naming: (any CacheNaming)? = nil) {
        self.store = store
        self.naming = naming ?? store.naming
    }

    /// The entry for the key's file; nil if the store does not have it. Blocks and reads the whole file.
    package func entry(
        for key: CacheKey, format: String? = nil, width: Int? = nil, height: Int? = nil
    ) throws(StoreError) -> ManifestEntry? {
        guard let file = try store.peek(key) else { return nil }
        return ManifestEntry(
            key: key, naming: store.naming, bytes: file.size, sha256: try file.sha256(), format: format, width: width,
            height: height)
    }

    /// Writes an archive (tar, zstd) to an open descriptor. Blocks.
    ///
    /// - Parameters:
    ///   - entries: in any order; the first one for a file is used.
    ///   - sources: the store's file for each bundle file with another name.
    ///   - path: the archive's name, for errors.
    ///   - written: called after each file.
    /// - Throws: `StoreError`, `damaged` if a file no longer matches its entry.
    package func write(
        _ entries: [ManifestEntry], from sources: [String: String] = [:], to descriptor: Int32, path: String,
        written: () -> Void = {}
    ) throws(StoreError) {
        try write(entries, sources, to: try ArchiveWriter(descriptor: descriptor, path: path), written)
    }

    /// Writes a directory, which must not exist; it appears once complete. Blocks.
    package func write(
        _ entries: [ManifestEntry], from sources: [String: String] = [:], toDirectory path: String,
        written: () -> Void = {}
    ) throws(StoreError) {
        let writer = try BundleDirectoryWriter(path, directory: BundleLayout.directory(naming))
        try write(entries, sources, to: writer, written)
    }

    private func write(
        _ entries: [ManifestEntry], _ sources: [String: String],
        to writer: borrowing some BundleWriter & ~Copyable, _ written: () -> Void
    ) throws(StoreError) {
        let entries = Self.sorted(entries)
        let manifest = Array(entries.map { $0.line + "\n" }.joined().utf8)
        try writer.add(BundleLayout.manifest, size: manifest.count, date: nil) { (write) throws(StoreError) in
            try manifest.withBytes(write)
        }
        for entry in entries {
            let name = BundleLayout.directory(naming) + "/" + entry.file
            try writer.add(name, size: entry.bytes, date: naming.modificationDate) { (write) throws(StoreError) in
                try copy(entry, from: sources[entry.file] ?? entry.file, write)
            }
            written()
        }
        try writer.finish()
    }

    private static func sorted(_ entries: [ManifestEntry]) -> [ManifestEntry] {
        // Byte by byte: equal strings can be different file names.
        var seen: Set<[UInt8]> = []
        return entries.filter { seen.insert(Array($0.file.utf8)).inserted }.sorted {
            $0.file.utf8.lexicographicallyPrecedes($1.file.utf8)
        }
    }

    /// Copies a file's bytes and compares them with its entry.
    private func copy(
        _ entry: ManifestEntry, from source: String,
        _ write: (UnsafeRawBufferPointer) throws(StoreError) -> Void
    ) throws(StoreError) {
        let mismatch = StoreError(.damaged, "export a file that no longer matches its entry:", source)
        guard let file = try store.peek(named: source), file.size == entry.bytes else { throw mismatch }
        var digest = SHA256Digest()
        var length = 0
        try file.forEachBlock { (bytes) throws(StoreError) in
            length += bytes.count
            guard length <= entry.bytes else { throw mismatch }
            digest.update(bytes)
            try write(bytes)
        }
        guard length == entry.bytes, SHA256Digest.hex(digest.finish()) == entry.sha256 else { throw mismatch }
    }
}
