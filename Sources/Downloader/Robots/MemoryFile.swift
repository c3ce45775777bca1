private import CLinux
private import Glibc

/// A small file in memory, so that no disk access delays it. Uses `memfd_create`.
package struct MemoryFile: ~Copyable {
    /// Open for reading and writing during this value's lifetime.
    package let descriptor: Int32

    /// - Throws: `localFault` if the process is out of descriptors.
    package init(name: String) throws(FetchError) {
        descriptor = larder_memory_file(name)
        guard descriptor >= 0 else { throw FetchError(.localFault, "no memory for \(name) (errno \(errno))") }
    }

    deinit { close(descriptor) }

    /// At most `count` bytes.
    package func prefix(_ count: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { buffer, length in
            length = max(0, pread(descriptor, buffer.baseAddress, count, 0))
        }
    }
}
