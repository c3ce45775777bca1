private import Glibc

/// An original that can be read alone.
///
/// The descriptor of a download can write, and code that has taken over a child could change the file after its digest
/// was computed.
struct ReadOnlySource: ~Copyable {
    let descriptor: Int32

    /// - Parameter original: the caller keeps it.
    /// - Throws: `TranscodeError` 301, or 501 when this machine lacks descriptors or memory.
    init(_ original: Int32) throws(TranscodeError) {
        // A descriptor that cannot write is sent itself: it may leave the access time as it is.
        let canWrite = fcntl(original, F_GETFL) & O_ACCMODE != O_RDONLY
        descriptor =
            canWrite
            ? open("/proc/self/fd/\(original)", O_RDONLY | O_CLOEXEC) : fcntl(original, F_DUPFD_CLOEXEC, 0)
        guard descriptor >= 0 else { throw TranscodeError.noChild("the original cannot be opened for reading", errno) }
    }

    deinit { close(descriptor) }
}
