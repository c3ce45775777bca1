private import Glibc
internal import ImageModel

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

/// The watermarks that a request needs, opened in the configured directory: a child opens no files.
struct WatermarkFiles: ~Copyable {
    /// The names of the files that could be opened, and their descriptors in the same order.
    private(set) var names: [String] = []
    private(set) var descriptors: [Int32] = []

    /// - Parameter directory: nil when the pool has none; no file is opened then.
    init(of variants: [Variant], in directory: String?) {
        guard let directory else { return }
        let wanted = Set(variants.flatMap(\.watermarks)).sorted().prefix(Pipeline.watermarkLimit)
        for name in wanted {
            // Not blocking, so that a pipe in the directory stops nothing.
            let descriptor = open("\(directory)/\(name)", O_RDONLY | O_CLOEXEC | O_NONBLOCK)
            guard descriptor >= 0 else { continue }
            names.append(name)
            descriptors.append(descriptor)
        }
    }

    deinit { for descriptor in descriptors { close(descriptor) } }
}
