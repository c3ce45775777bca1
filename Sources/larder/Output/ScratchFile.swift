import Glibc

/// A file without a name, which ends with its last reference.
///
/// A class, so that a call on a thread pool can return it.
final class ScratchFile: Sendable {
    /// Open for reading and writing.
    let descriptor: Int32

    init() throws(CommandError) { descriptor = try OutputFile.unnamed() }

    deinit { close(descriptor) }

    /// The first `count` bytes, or fewer.
    func prefix(_ count: Int) -> [UInt8] { OutputFile.prefix(count, of: descriptor) }
}
