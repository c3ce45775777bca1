import Glibc

/// Makes a bundle of a cache's files: a read-only cache with a manifest, for an app to ship or another place to take in.
///
/// A bundle holds `manifest.jsonl` and `default/<file>`, sorted by name. From the same entries it is always the same, bit
/// by bit: no dates, no owners.
public struct BundleExport: Sendable {
    private let layout: CacheLayout

    /// The directory of the files in a bundle.
    static let namespace = "default"
    private static let block = 1 << 18

    /// Exports from this cache.
    public init(_ layout: CacheLayout) { self.layout = layout }

    /// The entry of the key's file as it lies in the cache; nil when it does not. Blocks, and reads the whole file.
    public func entry(
        for key: CacheKey, format: String? = nil, width: Int? = nil, height: Int? = nil
    ) throws(StoreError) -> ManifestEntry? {
        guard let file = try layout.peek(key.fileName) else { return nil }
        return ManifestEntry(
            key: key, bytes: file.size, sha256: try file.sha256(), format: format, width: width, height: height)
    }

    /// Writes an archive (tar, zstd) to an open descriptor. Blocks.
    ///
    /// - Parameters:
    ///   - entries: in any order; of several with the same file the first counts.
    ///   - path: what the archive is called in errors.
    ///   - written: told after each file.
    /// - Throws: `StoreError`, `damaged` when a file is no longer what its entry says.
    public func write(
        _ entries: [ManifestEntry], to descriptor: Int32, path: String, written: () -> Void = {}
    ) throws(StoreError) {
        let entries = Self.sorted(entries)
        let archive = try ArchiveWriter(descriptor: descriptor, path: path)
        let manifest = Self.manifest(entries)
        try archive.begin(CacheLayout.manifestName, size: manifest.count)
        try manifest.withEachBlock { (bytes) throws(StoreError) in try archive.write(bytes) }
        for entry in entries {
            try archive.begin(Self.namespace + "/" + entry.file, size: entry.bytes)
            try copy(entry) { (bytes) throws(StoreError) in try archive.write(bytes) }
            written()
        }
        try archive.finish()
    }

    /// Writes a directory, which must not be there yet: it appears when it is whole. Blocks.
    ///
    /// Until then it lies beside it under a hidden name; what exports to this place left there that were killed is deleted.
    ///
    /// - Parameter path: slashes at its end mean nothing.
    /// - Throws: `StoreError` as for an archive; `exists` when something has that name already.
    public func write(
        _ entries: [ManifestEntry], toDirectory path: String, written: () -> Void = {}
    ) throws(StoreError) {
        let entries = Self.sorted(entries)
        let draft = try BundleDraft(of: path)
        try Self.put(draft.path + "/" + CacheLayout.manifestName) { (file, path) throws(StoreError) in
            try Self.manifest(entries).withEachBlock { (bytes) throws(StoreError) in
                try writeAll(bytes, to: file, at: path)
            }
        }
        for entry in entries {
            try Self.put(draft.path + "/" + Self.namespace + "/" + entry.file) { (file, path) throws(StoreError) in
                try copy(entry) { (bytes) throws(StoreError) in try writeAll(bytes, to: file, at: path) }
            }
            written()
        }
        try draft.name()
    }

    // MARK: -

    private static func sorted(_ entries: [ManifestEntry]) -> [ManifestEntry] {
        // Byte for byte, which names of equal strings need not be.
        var seen: Set<[UInt8]> = []
        return entries.filter { seen.insert(Array($0.file.utf8)).inserted }.sorted {
            $0.file.utf8.lexicographicallyPrecedes($1.file.utf8)
        }
    }

    private static func manifest(_ entries: [ManifestEntry]) -> [UInt8] {
        var bytes: [UInt8] = []
        for entry in entries {
            bytes += entry.line.utf8
            bytes.append(UInt8(ascii: "\n"))
        }
        return bytes
    }

    /// Hands the file's bytes on, and makes sure that they are those of the entry.
    private func copy(
        _ entry: ManifestEntry, _ write: (UnsafeRawBufferPointer) throws(StoreError) -> Void
    ) throws(StoreError) {
        guard let file = try layout.peek(entry.file), file.size == entry.bytes else {
            throw StoreError(.damaged, "find as its entry says", layout.directory + "/" + entry.file)
        }
        let digest = SHA256()
        var offset = 0
        while offset < entry.bytes {
            let block = try file.bytes(min(Self.block, entry.bytes - offset), at: offset)
            guard !block.isEmpty else { break }
            let result = block.withUnsafeBytes { bytes in
                digest.update(bytes)
                return Result { () throws(StoreError) in try write(bytes) }
            }
            try result.get()
            offset += block.count
        }
        guard digest.finish() == entry.sha256 else {
            throw StoreError(.damaged, "find as its entry says", layout.directory + "/" + entry.file)
        }
    }

    private static func put(
        _ path: String, _ fill: (borrowing Descriptor, String) throws(StoreError) -> Void
    ) throws(StoreError) {
        let file = try Descriptor(opening: path, O_WRONLY | O_CREAT | O_EXCL)
        try fill(file, path)
        let never = [timespec(), timespec()]
        guard futimens(file.number, never) == 0 else { throw StoreError("futimens", path) }
    }
}

extension [UInt8] {
    /// The bytes in one piece; writing takes them as they come.
    fileprivate func withEachBlock(
        _ body: (UnsafeRawBufferPointer) throws(StoreError) -> Void
    ) throws(StoreError) {
        let result = withUnsafeBytes { bytes in Result { () throws(StoreError) in try body(bytes) } }
        try result.get()
    }
}
