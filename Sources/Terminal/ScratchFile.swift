import Glibc

/// An unnamed file, deleted with its last reference.
///
/// A class, so that thread pool calls can return it.
package final class ScratchFile: Sendable {
    /// Open for reading and writing.
    package let descriptor: Int32

    /// - Parameter bytes: its initial content.
    package init(_ bytes: [UInt8] = []) throws(CommandError) {
        descriptor = try OutputFile.unnamed()
        try OutputFile.write(bytes[...], to: descriptor, "/tmp")
    }

    deinit { close(descriptor) }

    /// Up to `count` leading bytes.
    package func prefix(_ count: Int) -> [UInt8] { OutputFile.prefix(count, of: descriptor) }
}
