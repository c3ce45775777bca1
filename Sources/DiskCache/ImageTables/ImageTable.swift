private import Concurrency
import Glibc

/// A file of uncompressed images of one size that an app maps into memory, as FastImageCache does.
///
/// One process at a time writes a table. `flush` replaces the metadata atomically after syncing the pixels, so it never
/// refers to a missing image. All functions block. Source: FastImageCache 1.5.1, `FICImageTable`:
/// `<root>/ImageTables/<namespace>/<format>.imageTable` and `.metadata`.
package final class ImageTable: Sendable {
    package let format: ImageTableFormat
    private let directory: String
    private let file: Descriptor
    private let index: Locked<ImageTableIndex>

    /// Opens or creates a table for writing. Empties a table of another format.
    ///
    /// - Parameters:
    ///   - root: the directory of `ImageTables`, created if missing.
    ///   - namespace: FastImageCache's default by default.
    /// - Throws: `StoreError`, `busy` while another process writes it.
    package init(
        opening root: String, namespace: String = "FICDefaultNamespace", format: ImageTableFormat
    ) throws(StoreError) {
        self.format = format
        directory = try CacheLayout(root: root + "/ImageTables", namespace: namespace).directory
        try Directory.create(directory, durable: false, FilePermissions())
        let path = directory + "/" + format.name + ".imageTable"
        let file = try Descriptor(opening: path, O_RDWR | O_CREAT)
        try file.lock(to: "write", path)
        // Left by a process that was killed in `flush`.
        TemporaryFileCleanup.deleteAbandoned(in: directory)
        let length = Int(try file.status(of: path).st_size)
        let metadata = try OpenFile(ifPresent: directory + "/" + format.name + ".metadata")
        let known = try metadata.flatMap { (file) throws(StoreError) in
            ImageTableMetadata(try file.bytes(file.size))?.index(of: format, fileLength: length)
        }
        if known == nil && ftruncate(file.number, 0) != 0 { throw StoreError("ftruncate", path) }
        self.file = file
        index = Locked(known ?? ImageTableIndex())
    }

    private var path: String { directory + "/" + format.name + ".imageTable" }

    package var count: Int { index.withLock { $0.count } }

    /// Writes an image, replacing the entity's earlier one. Visible to readers after `flush`.
    ///
    /// - Parameter pixels: `format.imageLength` bytes: rows of `format.rowLength` bytes, top to bottom.
    /// - Throws: `StoreError`, `tooLarge` if `pixels` has another length. The overwritten image is then lost.
    package func store(_ pixels: [UInt8], for entity: EntityID, source: EntityID) throws(StoreError) {
        guard pixels.count == format.imageLength else {
            throw StoreError(.tooLarge, "store \(pixels.count) bytes as an image of \(format.imageLength) in", path)
        }
        var entry = pixels
        entry += [UInt8](repeating: 0, count: format.entryLength - pixels.count - ImageTableFormat.trailerLength)
        entry += entity.bytes + source.bytes
        let result = index.withLock { index in
            Result { () throws(StoreError) in
                let (slot, replaced) = index.slot(for: entity, maxCount: format.effectiveMaximum)
                try grow(toHold: slot)
                // Remove it first: a failed write damages its pixels.
                if let replaced { index.remove(replaced) }
                try entry.withBytes { (bytes) throws(StoreError) in
                    try file.write(bytes, at: slot * format.entryLength, to: path)
                }
                index.put(entity, source: source, at: slot)
            }
        }
        try result.get()
    }

    /// The pixels of the entity's image; nil if there is none. Removes an image made from another source.
    package func read(_ entity: EntityID, source: EntityID) throws(StoreError) -> [UInt8]? {
        let result = index.withLock { index in
            Result { () throws(StoreError) -> [UInt8]? in
                guard let slot = index.find(entity, source: source) else { return nil }
                let entry = try file.read(format.entryLength, at: slot * format.entryLength, from: path)
                // After a crash the slot may have another image than the metadata says; its trailer is right.
                guard entry.count == format.entryLength, entry.suffix(32).elementsEqual(entity.bytes + source.bytes)
                else {
                    index.remove(entity)
                    return nil
                }
                return Array(entry.prefix(format.imageLength))
            }
        }
        return try result.get()
    }

    package func remove(_ entity: EntityID) { index.withLock { $0.remove(entity) } }

    /// Syncs the pixels, then replaces the metadata.
    package func flush() throws(StoreError) {
        // Taken before the sync: images stored during it go into the next metadata.
        let bytes = index.withLock { ImageTableMetadata(format, $0).bytes }
        if retrying({ fdatasync(file.number) }) < 0 { throw StoreError("fdatasync", path) }
        let draft = try TemporaryFile(in: directory, FilePermissions())
        try bytes.withBytes { (bytes) throws(StoreError) in try draft.write(bytes) }
        try draft.synchronize(.data)
        try draft.rename(to: directory + "/" + format.name + ".metadata")
    }

    /// Extends the file to a whole number of chunks.
    private func grow(toHold slot: Int) throws(StoreError) {
        let chunk = format.entriesPerChunk * format.entryLength
        let length = (slot / format.entriesPerChunk + 1) * chunk
        guard Int(try file.status(of: path).st_size) < length else { return }
        let failure = posix_fallocate(file.number, 0, off_t(length))
        guard failure == 0 else { throw StoreError("fallocate", path, number: failure) }
    }
}
