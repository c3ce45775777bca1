private import CLinux
private import Glibc

/// The owner of a file without a name or a disk, for small bodies: nothing that reads or writes it waits.
struct MemoryFile: ~Copyable {
    let descriptor: Int32

    /// - Throws: `writeFailed` when the process may open no more files.
    init(name: String) throws(FetchError) {
        descriptor = larder_memory_file(name)
        guard descriptor >= 0 else { throw FetchError(.writeFailed, "no memory for \(name) (errno \(errno))") }
    }

    deinit { close(descriptor) }

    /// The first bytes, at most `count`.
    func prefix(_ count: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { buffer, length in
            length = max(0, pread(descriptor, buffer.baseAddress, count, 0))
        }
    }
}
