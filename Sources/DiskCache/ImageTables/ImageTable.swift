import Glibc
import Synchronization

/// A file of uncompressed pictures of one size that an app maps into memory: FastImageCache's image table.
///
/// One process writes a table at a time. Pixels are written first; `flush` then puts the metadata in place in one step, so
/// that it never names a picture that is not there. All calls block.
/// Source: the spec of FastImageCache, section 9: `<root>/ImageTables/<namespace>/<format>.imageTable` and `.metadata`.
public final class ImageTable: Sendable {
    /// The format of all its pictures.
    public let format: ImageTableFormat
    private let directory: String
    private let file: Descriptor
    private let index: Mutex<ImageTableIndex>

    /// Opens a table for writing, or begins it. One whose format has changed is begun anew.
    ///
    /// - Parameters:
    ///   - root: where `ImageTables` lies, or is made.
    ///   - namespace: FastImageCache's default by default.
    /// - Throws: `StoreError`, `busy` when another process writes it.
    public init(
        opening root: String, namespace: String = "FICDefaultNamespace", format: ImageTableFormat
    ) throws(StoreError) {
        self.format = format
        directory = try CacheLayout(root: root + "/ImageTables", namespace: namespace).directory
        try Directory.make(directory, durable: false, FilePermissions())
        let path = directory + "/" + format.name + ".imageTable"
        let file = try Descriptor(opening: path, O_RDWR | O_CREAT)
        let number = file.number
        if retrying({ flock(number, LOCK_EX | LOCK_NB) }) != 0 && errno == EWOULDBLOCK {
            throw StoreError(.busy, "write", path)
        }
        // What a writer that died in `flush` left.
        Sweep.clear(directory)
        let length = Int(try file.status(of: path).st_size)
        let metadata = try OpenFile(ifPresent: directory + "/" + format.name + ".metadata")
        let known = try metadata.flatMap { (file) throws(StoreError) in
            ImageTableMetadata(try file.bytes(file.size))?.index(of: format, fileLength: length)
        }
        if known == nil && ftruncate(number, 0) != 0 { throw StoreError("ftruncate", path) }
        self.file = file
        index = Mutex(known ?? ImageTableIndex())
    }

    private var path: String { directory + "/" + format.name + ".imageTable" }

    /// How many pictures are there.
    public var count: Int { index.withLock { $0.count } }

    /// Writes a picture, in place of an earlier one of the entity. `flush` makes it known.
    ///
    /// - Parameter pixels: `format.imageLength` bytes: rows of `format.rowLength` bytes, the top one first.
    /// - Throws: `StoreError`, `tooLarge` when `pixels` has another length. A picture whose place was to be written over is
    ///   then forgotten.
    public func store(_ pixels: [UInt8], for entity: EntityID, source: EntityID) throws(StoreError) {
        guard pixels.count == format.imageLength else {
            throw StoreError(
                .tooLarge, "take \(pixels.count) bytes for a picture of \(format.imageLength) into", path)
        }
        var entry = pixels
        entry += [UInt8](repeating: 0, count: format.entryLength - pixels.count - ImageTableFormat.trailerLength)
        entry += entity.bytes + source.bytes
        let result = index.withLock { index in
            Result { () throws(StoreError) in
                let (place, givesWay) = index.place(for: entity, maximum: format.effectiveMaximum)
                try grow(toHold: place)
                // Forgotten first: when writing fails half-way, its pixels are no more.
                if let givesWay { index.remove(givesWay) }
                try write(entry, at: place * format.entryLength)
                index.put(entity, source: source, at: place)
            }
        }
        try result.get()
    }

    /// The pixels of an entity's picture that was made of `source`; nil when there is none. One of another source is
    /// forgotten.
    public func read(_ entity: EntityID, source: EntityID) throws(StoreError) -> [UInt8]? {
        let result = index.withLock { index in
            Result { () throws(StoreError) -> [UInt8]? in
                guard let place = index.find(entity, source: source) else { return nil }
                let entry = try bytes(format.entryLength, at: place * format.entryLength)
                // What the entry says of itself wins over the metadata: it may have been written over after a crash.
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

    /// Forgets an entity's picture; its place is free.
    public func remove(_ entity: EntityID) { index.withLock { $0.remove(entity) } }

    /// Puts pixels on the disk and then the metadata in place.
    public func flush() throws(StoreError) {
        // First what is to be named: what comes in meanwhile is named the next time.
        let bytes = index.withLock { ImageTableMetadata(format, $0).bytes }
        if retrying({ fdatasync(file.number) }) < 0 { throw StoreError("fdatasync", path) }
        let draft = try TemporaryFile(in: directory, FilePermissions())
        let result = bytes.withUnsafeBytes { bytes in Result { () throws(StoreError) in try draft.write(bytes) } }
        try result.get()
        try draft.synchronize(.data)
        try draft.rename(to: directory + "/" + format.name + ".metadata")
    }

    // MARK: -

    /// The file grows by whole chunks.
    private func grow(toHold place: Int) throws(StoreError) {
        let chunk = format.entriesPerChunk * format.entryLength
        let wanted = (place / format.entriesPerChunk + 1) * chunk
        let status = try file.status(of: path)
        guard Int(status.st_size) < wanted else { return }
        let failure = posix_fallocate(file.number, 0, off_t(wanted))
        guard failure == 0 else { throw StoreError("fallocate", path, number: failure) }
    }

    private func write(_ bytes: [UInt8], at offset: Int) throws(StoreError) {
        var done = 0
        while done < bytes.count {
            let count = bytes[done...].withUnsafeBytes {
                pwrite(file.number, $0.baseAddress, $0.count, off_t(offset + done))
            }
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { throw StoreError("pwrite", path) }
            done += count
        }
    }

    private func bytes(_ count: Int, at offset: Int) throws(StoreError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        let got = pread(file.number, &bytes, count, off_t(offset))
        guard got >= 0 else { throw StoreError("pread", path) }
        return Array(bytes.prefix(got))
    }
}
