private import CArchive
import Glibc

/// Writes a tar archive compressed with zstd. Equal files in equal order give equal bytes.
struct ArchiveWriter: BundleWriter, ~Copyable {
    private let archive: OpaquePointer
    private let path: String

    /// - Parameters:
    ///   - descriptor: an open file, which the caller closes.
    ///   - path: the archive's name, for errors.
    init(descriptor: Int32, path: String) throws(StoreError) {
        guard let archive = archive_write_new() else { throw StoreError("archive_write_new", path, number: ENOMEM) }
        // pax for long names; binary names, as the locale may not be UTF-8.
        let steps = [
            archive_write_set_format_pax_restricted(archive),
            archive_write_set_format_option(archive, "pax", "hdrcharset", "BINARY"),
            archive_write_add_filter_zstd(archive),
            archive_write_open_fd(archive, descriptor),
        ]
        guard steps.allSatisfy({ $0 == ARCHIVE_OK }) else {
            let failure = Self.failure("archive_write_open", archive, path)
            archive_write_free(archive)
            throw failure
        }
        self.archive = archive
        self.path = path
    }

    deinit { archive_write_free(archive) }

    /// Adds a file without owner, readable by all.
    func add(_ name: String, size: Int, date: Timestamp?, _ fill: Fill) throws(StoreError) {
        guard let entry = archive_entry_new() else { throw StoreError("archive_entry_new", path, number: ENOMEM) }
        defer { archive_entry_free(entry) }
        archive_entry_set_pathname(entry, name)
        archive_entry_set_size(entry, la_int64_t(size))
        archive_entry_set_filetype(entry, UInt32(Glibc.S_IFREG))
        archive_entry_set_perm(entry, 0o644)
        archive_entry_set_mtime(entry, date?.seconds ?? 0, 0)
        try check(archive_write_header(archive, entry), "archive_write_header")
        try fill { (bytes) throws(StoreError) in
            guard bytes.isEmpty || archive_write_data(archive, bytes.baseAddress, bytes.count) == bytes.count else {
                throw Self.failure("archive_write_data", archive, path)
            }
        }
    }

    /// Writes the end of the archive (`archive_write_close`).
    func finish() throws(StoreError) { try check(archive_write_close(archive), "archive_write_close") }

    private func check(_ result: Int32, _ operation: String) throws(StoreError) {
        guard result == ARCHIVE_OK else { throw Self.failure(operation, archive, path) }
    }

    private static func failure(_ operation: String, _ archive: OpaquePointer, _ path: String) -> StoreError {
        let number = archive_errno(archive)
        return number > 0 ? StoreError(operation, path, number: number) : StoreError(.inputOutput, operation, path)
    }
}
