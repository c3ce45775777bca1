private import CArchive
import Glibc

/// A tar archive being read, plain or compressed, file by file.
struct ArchiveReader: ~Copyable {
    private let archive: OpaquePointer
    private let path: String

    /// One file of it; its bytes come next.
    struct Header {
        let name: String
        let size: Int
        let isFile: Bool
    }

    /// - Throws: `StoreError`, `damaged` when it is no such archive.
    init(_ path: String) throws(StoreError) {
        // libarchive's own opening tells of no error number for a missing file.
        _ = try Descriptor(opening: path, O_RDONLY)
        guard let archive = archive_read_new() else { throw StoreError("archive_read_new", path, number: ENOMEM) }
        archive_read_support_format_tar(archive)
        archive_read_support_filter_zstd(archive)
        archive_read_support_filter_gzip(archive)
        guard archive_read_open_filename(archive, path, 1 << 18) == ARCHIVE_OK else {
            archive_read_free(archive)
            throw StoreError(.damaged, "understand the archive", path)
        }
        self.archive = archive
        self.path = path
    }

    deinit { archive_read_free(archive) }

    /// The next file or whatever else stands there; nil at the end.
    func next() throws(StoreError) -> Header? {
        var entry: OpaquePointer?
        let result = archive_read_next_header(archive, &entry)
        if result == ARCHIVE_EOF { return nil }
        guard result == ARCHIVE_OK, let entry, let name = archive_entry_pathname(entry) else { throw damaged() }
        return Header(
            name: String(cString: name), size: Int(archive_entry_size(entry)),
            isFile: mode_t(archive_entry_filetype(entry)) == Glibc.S_IFREG && archive_entry_hardlink(entry) == nil)
    }

    /// Up to `room.count` bytes of the present file; 0 at its end.
    func read(_ room: UnsafeMutableRawBufferPointer) throws(StoreError) -> Int {
        let count = archive_read_data(archive, room.baseAddress, room.count)
        guard count >= 0 else { throw damaged() }
        return count
    }

    private func damaged() -> StoreError { StoreError(.damaged, "understand the archive", path) }
}
