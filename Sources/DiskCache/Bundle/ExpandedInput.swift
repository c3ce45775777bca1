private import CArchive
import Glibc

/// Reads a file or pipe in blocks, decompressed if it is gzip or zstd.
///
/// Protected by its owner: one thread at a time calls `read`.
package final class ExpandedInput: @unchecked Sendable {
    private struct Archive: ~Copyable {
        let handle: OpaquePointer

        init(path: String) throws(StoreError) {
            guard let handle = archive_read_new() else { throw StoreError("archive_read_new", path, number: ENOMEM) }
            self.handle = handle
            archive_read_support_filter_gzip(handle)
            archive_read_support_filter_zstd(handle)
            // The raw format refuses an empty file.
            archive_read_support_format_empty(handle)
            archive_read_support_format_raw(handle)
        }

        deinit { archive_read_free(handle) }
    }

    private static let blockSize = 1 << 18

    private let descriptor: Int32
    private let path: String
    private let isStopped: @Sendable () -> Bool
    private var archive: Archive?
    private var block = [UInt8](repeating: 0, count: blockSize)
    private var failure: Int32 = 0
    /// Whether reading ended because of `isStopped`.
    package private(set) var wasStopped = false

    /// - Parameters:
    ///   - path: the file; `-` is standard input.
    ///   - isStopped: called before each block, and five times a second while there is no input; true ends the input.
    /// - Throws: `StoreError` if the file cannot be opened.
    package init(_ path: String, isStopped: @escaping @Sendable () -> Bool = { false }) throws(StoreError) {
        self.path = path
        self.isStopped = isStopped
        descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw StoreError("read", path) }
    }

    deinit { if descriptor > STDIN_FILENO { close(descriptor) } }

    /// The next block; empty at the end. Blocks.
    ///
    /// - Throws: `StoreError`, `damaged` if compressed data is invalid (`archive_read_data_block`).
    package func read() throws(StoreError) -> [UInt8] {
        if archive == nil { guard try begin() else { return [] } }
        guard let handle = archive?.handle else { return [] }
        var start: UnsafeRawPointer?
        var (count, offset): (Int, la_int64_t) = (0, 0)
        // archive_read_data would drop the blocks before an error.
        let result = archive_read_data_block(handle, &start, &count, &offset)
        if result == ARCHIVE_EOF || wasStopped { return [] }
        guard result == ARCHIVE_OK else { throw error() }
        return Array(UnsafeRawBufferPointer(start: start, count: count))
    }

    /// Reads the beginning; false if the input is empty.
    private func begin() throws(StoreError) -> Bool {
        let opened = try Archive(path: path)
        let handle = opened.handle
        archive = consume opened
        let me = Unmanaged.passUnretained(self).toOpaque()
        var entry: OpaquePointer?
        let result =
            archive_read_open(handle, me, nil, { ExpandedInput.fill($1, $2) }, nil) == ARCHIVE_OK
            ? archive_read_next_header(handle, &entry) : ARCHIVE_FATAL
        if result == ARCHIVE_EOF || wasStopped { return false }
        guard result == ARCHIVE_OK else { throw error() }
        return true
    }

    private func error() -> StoreError {
        failure != 0 ? StoreError("read", path, number: failure) : StoreError(.damaged, "expand", path)
    }

    /// `archive_read_callback`: the next raw block.
    private static func fill(
        _ me: UnsafeMutableRawPointer?, _ start: UnsafeMutablePointer<UnsafeRawPointer?>?
    ) -> Int {
        guard let me else { return -1 }
        let input = Unmanaged<ExpandedInput>.fromOpaque(me).takeUnretainedValue()
        return input.block.withUnsafeMutableBytes { bytes in
            start?.pointee = UnsafeRawPointer(bytes.baseAddress)
            return input.readBlock(into: bytes)
        }
    }

    private func readBlock(into bytes: UnsafeMutableRawBufferPointer) -> Int {
        while !isStopped() {
            var ready = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            if poll(&ready, 1, 200) <= 0 { continue }
            let count = Glibc.read(descriptor, bytes.baseAddress, bytes.count)
            if count < 0 && (errno == EINTR || errno == EAGAIN) { continue }
            if count < 0 { failure = errno }
            return count
        }
        wasStopped = true
        return 0
    }
}
