private import CArchive
import Glibc

/// Reads a tar archive, plain or compressed, entry by entry.
struct ArchiveReader: ~Copyable {
    /// Images are already compressed: an archive that expands further contains none.
    private static let mostExpansion: Int64 = 100
    /// Always allowed, in bytes.
    private static let small: Int64 = 64 << 20

    private let archive: OpaquePointer
    private let path: String

    struct Header {
        let name: String
        let size: Int
        let isFile: Bool
    }

    /// - Throws: `StoreError`, `damaged` if the file is no such archive.
    init(_ path: String) throws(StoreError) {
        // archive_read_open_filename sets no error number for a missing file.
        _ = try Descriptor(opening: path, O_RDONLY)
        guard let archive = archive_read_new() else { throw StoreError("archive_read_new", path, number: ENOMEM) }
        archive_read_support_format_tar(archive)
        archive_read_support_filter_zstd(archive)
        archive_read_support_filter_gzip(archive)
        guard archive_read_open_filename(archive, path, 1 << 18) == ARCHIVE_OK else {
            archive_read_free(archive)
            throw StoreError(.damaged, "read the archive", path)
        }
        self.archive = archive
        self.path = path
    }

    deinit { archive_read_free(archive) }

    /// The next entry; nil at the end (`archive_read_next_header`).
    func next() throws(StoreError) -> Header? {
        var entry: OpaquePointer?
        let result = archive_read_next_header(archive, &entry)
        if result == ARCHIVE_EOF { return nil }
        guard result == ARCHIVE_OK, let entry, let name = archive_entry_pathname(entry) else { throw damaged() }
        return Header(
            name: String(cString: name), size: Int(archive_entry_size(entry)),
            isFile: mode_t(archive_entry_filetype(entry)) == Glibc.S_IFREG && archive_entry_hardlink(entry) == nil)
    }

    /// Reads the current entry in blocks (`archive_read_data`).
    ///
    /// - Throws: `StoreError`; `tooLarge` if the archive has expanded to more than 64 MiB and more than 100 times the
    ///   bytes read.
    func forEachBlock(_ body: (UnsafeRawBufferPointer) throws(StoreError) -> Void) throws(StoreError) {
        var block = [UInt8](repeating: 0, count: 1 << 18)
        while true {
            let count = archive_read_data(archive, &block, block.count)
            guard count >= 0 else { throw damaged() }
            if count == 0 { return }
            let (compressed, expanded) = (archive_filter_bytes(archive, -1), archive_filter_bytes(archive, 0))
            guard expanded <= max(Self.small, compressed * Self.mostExpansion) else {
                throw StoreError(.tooLarge, "expand", path, cause: "it expands to over 100 times its size")
            }
            try block.withBytes { (bytes) throws(StoreError) in
                try body(UnsafeRawBufferPointer(rebasing: bytes[..<count]))
            }
        }
    }

    private func damaged() -> StoreError { StoreError(.damaged, "read the archive", path) }
}
