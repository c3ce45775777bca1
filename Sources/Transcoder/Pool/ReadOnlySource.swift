private import Glibc

/// An original, opened once more for reading alone.
///
/// The descriptor of a download can write, and code that has taken over a child could change the file after its digest
/// was computed.
struct ReadOnlySource: ~Copyable {
    let descriptor: Int32

    /// - Parameter original: the caller keeps it.
    /// - Throws: `TranscodeError` 301, or 501 when this machine lacks descriptors or memory.
    init(_ original: Int32) throws(TranscodeError) {
        descriptor = open("/proc/self/fd/\(original)", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw TranscodeError.noChild("the original cannot be opened for reading", errno) }
    }

    deinit { close(descriptor) }
}
