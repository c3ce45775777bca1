import Glibc
private import ImageModel

/// Stores a bundle's files. Each is compared with the manifest before it is committed.
package struct BundleImport: Sendable {
    package struct Report: Hashable, Sendable {
        package var stored = 0
        /// Files that the store already had with the same contents.
        package var present = 0
        /// Files that the store has with other contents and kept.
        package var kept = 0
        /// Bytes of the stored files.
        package var bytes = 0
    }

    /// Passes a file's contents to its parameter, block by block.
    private typealias Contents = ((UnsafeRawBufferPointer) throws(StoreError) -> Void) throws(StoreError) -> Void

    private let store: any ImageStore
    private let replaces: Bool

    /// - Parameters:
    ///   - store: the destination.
    ///   - replaces: whether to replace files with other contents; false by default, because a bundle may be older than
    ///     the store. Empty files are always replaced.
    package init(into store: any ImageStore, replacing replaces: Bool = false) {
        self.store = store
        self.replaces = replaces
    }

    /// Imports an archive or directory. Blocks. Files stored before a failure remain. Hidden files and symbolic links
    /// in a directory are ignored.
    ///
    /// - Parameter stored: called after each file.
    /// - Throws: `StoreError`; `damaged` if `path` is no bundle, or its files differ from its manifest; `tooLarge` if
    ///   the manifest exceeds 512 MiB or one of its lines 1 MiB, or if an archive expands to more than 64 MiB and more
    ///   than 100 times its size.
    package func run(_ path: String, stored: () -> Void = {}) throws(StoreError) -> Report {
        var status = stat()
        guard stat(path, &status) == 0 else { throw StoreError("stat", path) }
        let isDirectory = status.st_mode & S_IFMT == S_IFDIR
        return isDirectory ? try importDirectory(path, stored) : try importArchive(path, stored)
    }

    private func importArchive(_ path: String, _ stored: () -> Void) throws(StoreError) -> Report {
        let archive = try ArchiveReader(path)
        guard let first = try archive.next(), first.isFile, first.name == BundleLayout.manifest else {
            throw StoreError(.damaged, "find a manifest at the beginning of", path)
        }
        var missing = Manifest(path, naming: store.naming)
        try archive.forEachBlock { (bytes) throws(StoreError) in try missing.add(bytes) }
        try missing.finish()
        var report = Report()
        while let header = try archive.next() {
            let prefix = BundleLayout.directory(store.naming) + "/"
            guard header.isFile, header.name.hasPrefix(prefix),
                let entry = missing.remove(String(header.name.dropFirst(prefix.count)))
            else { throw StoreError(.damaged, "find '\(header.name)' in the manifest of", path) }
            try importFile(entry, of: path, &report) { (body) throws(StoreError) in try archive.forEachBlock(body) }
            stored()
        }
        guard missing.count == 0 else {
            throw StoreError(.damaged, "find \(missing.count) files of the manifest in", path)
        }
        return report
    }

    private func importDirectory(_ path: String, _ stored: () -> Void) throws(StoreError) -> Report {
        let manifestPath = path + "/" + BundleLayout.manifest
        guard let file = try OpenFile(ifPresent: manifestPath) else {
            throw StoreError(.damaged, "find a manifest in", path)
        }
        var manifest = Manifest(manifestPath, naming: store.naming)
        try file.forEachBlock { (bytes) throws(StoreError) in try manifest.add(bytes) }
        try manifest.finish()
        let directory = path + "/" + BundleLayout.directory(store.naming)
        guard access(directory, F_OK) == 0 else {
            guard manifest.count == 0 else { throw StoreError(.damaged, "find the files of the manifest:", directory) }
            return Report()
        }
        try DirectoryWalk(directory: directory, includesHidden: false).visit { (entry) throws(StoreError) in
            if manifest.contains(entry.path) { return true }
            throw StoreError(.damaged, "find '\(entry.path)' in", manifestPath)
        }
        var report = Report()
        let held = try HeldDirectory(directory)
        try manifest.forEach { (entry) throws(StoreError) in
            let path = directory + "/" + entry.name
            guard let file = try held.file(entry.name) else {
                throw StoreError(.damaged, "find a file of the manifest:", path)
            }
            try importFile(entry, of: path, &report) { (body) throws(StoreError) in try file.forEachBlock(body) }
            stored()
        }
        return report
    }

    private func importFile(
        _ entry: Manifest.File, of source: String, _ report: inout Report, _ contents: Contents
    ) throws(StoreError) {
        // An equal file keeps its dates.
        let fault = try store.fault(of: entry.name, bytes: entry.bytes, sha256: entry.sha256)
        let size = try store.size(named: entry.name, isUse: false) ?? 0
        let isKept = fault != nil && !replaces && size > 0
        let file = fault == nil || isKept ? nil : try store.begin()
        let mismatch = StoreError(.damaged, "match '\(entry.name)' with the manifest in", source)
        var digest = SHA256Digest()
        var length = 0
        try contents { (bytes) throws(StoreError) in
            length += bytes.count
            guard length <= entry.bytes else { throw mismatch }
            digest.update(bytes)
            try file?.write(bytes)
        }
        guard length == entry.bytes, SHA256Digest.hex(digest.finish()) == entry.sha256 else { throw mismatch }
        guard let file else {
            if isKept { report.kept += 1 } else { report.present += 1 }
            return
        }
        _ = try store.commit(file, named: entry.name) { true }
        report.stored += 1
        report.bytes += length
    }
}
