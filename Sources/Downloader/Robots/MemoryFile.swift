private import CLinux
private import Glibc

/// An anonymous file in memory for small bodies, which no access to a disk delays. The corresponding C function is
/// `memfd_create`.
package struct MemoryFile: ~Copyable {
    /// Open for reading and writing, valid as long as this value.
    package let descriptor: Int32

    /// - Throws: `localFault` when the process has no descriptor left.
    package init(name: String) throws(FetchError) {
        descriptor = larder_memory_file(name)
        guard descriptor >= 0 else { throw FetchError(.localFault, "no memory for \(name) (errno \(errno))") }
    }

    deinit { close(descriptor) }

    /// The first bytes, at most `count`.
    package func prefix(_ count: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { buffer, length in
            length = max(0, pread(descriptor, buffer.baseAddress, count, 0))
        }
    }
}
