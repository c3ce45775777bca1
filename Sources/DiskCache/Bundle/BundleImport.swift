import Glibc

/// Takes a bundle into a cache: every file is compared with the manifest before it gets its name.
public struct BundleImport: Sendable {
    /// What became of the files.
    public struct Report: Hashable, Sendable {
        /// Now in the cache.
        public var stored = 0
        /// There before, the same byte for byte.
        public var present = 0
        /// The length of what was stored.
        public var bytes = 0
    }

    private let cache: DiskCache
    private static let block = 1 << 18
    /// A longer manifest is refused: about a million files.
    private static let longestManifest = 1 << 29

    /// Imports into this cache.
    public init(into cache: DiskCache) { self.cache = cache }

    /// Takes in an archive or a directory. Blocks. What was stored before a failure stays: it is whole and right.
    ///
    /// - Parameter stored: told after each file.
    /// - Throws: `StoreError`, `damaged` when it is no bundle, a file is not what the manifest says, stands in it and is not
    ///   there, or is there and does not stand in it.
    public func take(_ path: String, stored: () -> Void = {}) throws(StoreError) -> Report {
        var status = stat()
        guard stat(path, &status) == 0 else { throw StoreError("stat", path) }
        let isDirectory = status.st_mode & S_IFMT == S_IFDIR
        return isDirectory ? try takeDirectory(path, stored) : try takeArchive(path, stored)
    }

    private func takeArchive(_ path: String, _ stored: () -> Void) throws(StoreError) -> Report {
        let archive = try ArchiveReader(path)
        guard let first = try archive.next(), first.isFile, first.name == CacheLayout.manifestName else {
            throw StoreError(.damaged, "find a manifest at the beginning of", path)
        }
        var text: [UInt8] = []
        var room = [UInt8](repeating: 0, count: Self.block)
        while true {
            let count = try Self.read(archive, &room)
            if count == 0 { break }
            text += room[..<count]
            guard text.count <= Self.longestManifest else { throw StoreError(.tooLarge, "read the manifest of", path) }
        }
        var missing = try Self.entries(text, of: path)
        var report = Report()
        while let header = try archive.next() {
            let prefix = BundleExport.namespace + "/"
            guard header.isFile, header.name.hasPrefix(prefix),
                let entry = missing.removeValue(forKey: String(header.name.dropFirst(prefix.count)))
            else { throw StoreError(.damaged, "find '\(header.name)' in the manifest of", path) }
            try store(entry, of: path, &report) { (room) throws(StoreError) in try Self.read(archive, &room) }
            stored()
        }
        guard missing.isEmpty else {
            throw StoreError(.damaged, "find \(missing.count) files that the manifest names in", path)
        }
        return report
    }

    private func takeDirectory(_ path: String, _ stored: () -> Void) throws(StoreError) -> Report {
        let manifest = path + "/" + CacheLayout.manifestName
        guard let file = try OpenFile(ifPresent: manifest) else {
            throw StoreError(.damaged, "find a manifest in", path)
        }
        guard file.size <= Self.longestManifest else { throw StoreError(.tooLarge, "read", manifest) }
        var report = Report()
        for entry in try Self.entries(try file.bytes(file.size), of: manifest).values {
            let place = path + "/" + BundleExport.namespace + "/" + entry.file
            guard let file = try OpenFile(ifPresent: place) else {
                throw StoreError(.damaged, "find what the manifest names", place)
            }
            var offset = 0
            try store(entry, of: place, &report) { (room) throws(StoreError) in
                let block = try file.bytes(room.count, at: offset)
                room.replaceSubrange(0..<block.count, with: block)
                offset += block.count
                return block.count
            }
            stored()
        }
        return report
    }

    // MARK: -

    private func store(
        _ entry: ManifestEntry, of source: String, _ report: inout Report,
        _ read: (inout [UInt8]) throws(StoreError) -> Int
    ) throws(StoreError) {
        // A file that is there keeps its dates.
        let isPresent = try entry.fault(in: cache.layout) == nil
        let file = isPresent ? nil : try cache.makeTemporaryFile()
        let digest = SHA256()
        var room = [UInt8](repeating: 0, count: Self.block)
        var length = 0
        while true {
            let count = try read(&room)
            if count == 0 { break }
            length += count
            guard length <= entry.bytes else { throw Self.wrong(entry, source) }
            let result = room.withUnsafeBytes { bytes in
                let part = UnsafeRawBufferPointer(rebasing: bytes[..<count])
                digest.update(part)
                return Result { () throws(StoreError) in try file?.write(part) }
            }
            try result.get()
        }
        guard length == entry.bytes, digest.finish() == entry.sha256 else { throw Self.wrong(entry, source) }
        guard let file else {
            report.present += 1
            return
        }
        try cache.publish(file, as: CacheKey(entry.key))
        report.stored += 1
        report.bytes += length
    }

    private static func wrong(_ entry: ManifestEntry, _ source: String) -> StoreError {
        StoreError(.damaged, "find '\(entry.file)' as the manifest says in", source)
    }

    private static func read(_ archive: borrowing ArchiveReader, _ room: inout [UInt8]) throws(StoreError) -> Int {
        let result = room.withUnsafeMutableBytes { bytes in
            Result { () throws(StoreError) in try archive.read(bytes) }
        }
        return try result.get()
    }

    private static func entries(_ text: [UInt8], of path: String) throws(StoreError) -> [String: ManifestEntry] {
        var entries: [String: ManifestEntry] = [:]
        for line in text.split(separator: UInt8(ascii: "\n")) {
            let entry = try ManifestEntry(line: Array(line), of: path)
            entries[entry.file] = entry
        }
        return entries
    }
}
