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

    /// Imports into this cache.
    public init(into cache: DiskCache) { self.cache = cache }

    /// Takes in an archive or a directory. Blocks. What was stored before a failure stays: it is whole and right. Hidden things
    /// in a directory are passed over.
    ///
    /// - Parameter stored: told after each file.
    /// - Throws: `StoreError`, `damaged` when it is no bundle, a file is not what the manifest says, stands in it and is not
    ///   there, or is there and does not stand in it; `tooLarge` when the manifest has more than 512 MiB, or a line of it more
    ///   than one.
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
        var missing = BundleContents(of: path)
        var room = [UInt8](repeating: 0, count: Self.block)
        while true {
            let count = try Self.read(archive, &room)
            if count == 0 { break }
            try missing.add(room[..<count])
        }
        try missing.finish()
        var report = Report()
        while let header = try archive.next() {
            let prefix = BundleExport.namespace + "/"
            guard header.isFile, header.name.hasPrefix(prefix),
                let entry = missing.take(String(header.name.dropFirst(prefix.count)))
            else { throw StoreError(.damaged, "find '\(header.name)' in the manifest of", path) }
            try store(entry, of: path, &report) { (room) throws(StoreError) in try Self.read(archive, &room) }
            stored()
        }
        guard missing.count == 0 else {
            throw StoreError(.damaged, "find \(missing.count) files that the manifest names in", path)
        }
        return report
    }

    private func takeDirectory(_ path: String, _ stored: () -> Void) throws(StoreError) -> Report {
        let manifest = path + "/" + CacheLayout.manifestName
        guard let file = try OpenFile(ifPresent: manifest) else {
            throw StoreError(.damaged, "find a manifest in", path)
        }
        var missing = BundleContents(of: manifest)
        var position = 0
        while true {
            let block = try file.bytes(Self.block, at: position)
            if block.isEmpty { break }
            try missing.add(block[...])
            position += block.count
        }
        try missing.finish()
        let inside = path + "/" + BundleExport.namespace
        if access(inside, F_OK) == 0 {
            try DirectoryWalk(directory: inside, meetsHidden: false).visit { (entry) throws(StoreError) in
                if missing.names(entry.path) { return true }
                throw StoreError(.damaged, "find '\(entry.path)' in", manifest)
            }
        }
        var report = Report()
        try missing.each { (entry) throws(StoreError) in
            let place = inside + "/" + entry.name
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
        _ entry: BundleContents.Wanted, of source: String, _ report: inout Report,
        _ read: (inout [UInt8]) throws(StoreError) -> Int
    ) throws(StoreError) {
        // A file that is there keeps its dates.
        let isPresent = try cache.layout.fault(of: entry.name, bytes: entry.bytes, sha256: entry.sha256) == nil
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
        try cache.finish(file)
        try cache.name(file, asFile: entry.name)
        report.stored += 1
        report.bytes += length
    }

    private static func wrong(_ entry: BundleContents.Wanted, _ source: String) -> StoreError {
        StoreError(.damaged, "find '\(entry.name)' as the manifest says in", source)
    }

    private static func read(_ archive: borrowing ArchiveReader, _ room: inout [UInt8]) throws(StoreError) -> Int {
        let result = room.withUnsafeMutableBytes { bytes in
            Result { () throws(StoreError) in try archive.read(bytes) }
        }
        return try result.get()
    }
}
