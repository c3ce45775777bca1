import Glibc

/// A file without a name, which ends with its last reference.
///
/// A class, so that a call on a thread pool can return it.
package final class ScratchFile: Sendable {
    /// Open for reading and writing.
    package let descriptor: Int32

    /// - Parameter bytes: what it contains at first.
    package init(_ bytes: [UInt8] = []) throws(CommandError) {
        descriptor = try OutputFile.unnamed()
        try OutputFile.write(bytes[...], to: descriptor, "/tmp")
    }

    deinit { close(descriptor) }

    /// The first `count` bytes, or fewer.
    package func prefix(_ count: Int) -> [UInt8] { OutputFile.prefix(count, of: descriptor) }
}
