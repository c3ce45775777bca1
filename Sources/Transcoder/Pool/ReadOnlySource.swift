private import Glibc
internal import ImageModel

/// A read-only descriptor of an original.
///
/// A download's descriptor is writable: a compromised child could change the file after its digest was computed.
struct ReadOnlySource: ~Copyable {
    let descriptor: Int32

    /// - Parameter original: stays the caller's.
    /// - Throws: `TranscodeError` 301, or 501 if this machine lacks descriptors or memory.
    init(_ original: Int32) throws(TranscodeError) {
        // A read-only descriptor is sent itself: it may keep the access time unchanged.
        let canWrite = fcntl(original, F_GETFL) & O_ACCMODE != O_RDONLY
        descriptor =
            canWrite
            ? open("/proc/self/fd/\(original)", O_RDONLY | O_CLOEXEC) : fcntl(original, F_DUPFD_CLOEXEC, 0)
        guard descriptor >= 0 else { throw TranscodeError.noChild("the original cannot be opened for reading", errno) }
    }

    deinit { close(descriptor) }
}

/// A request's watermarks, opened in the configured directory because a child opens no files.
struct WatermarkFiles: ~Copyable {
    /// The names that could be opened, with descriptors in the same order.
    private(set) var names: [String] = []
    private(set) var descriptors: [Int32] = []

    /// - Parameter directory: nil opens no file.
    init(of variants: [Variant], in directory: String?) {
        guard let directory else { return }
        let wanted = Set(variants.flatMap(\.watermarks)).sorted().prefix(Pipeline.watermarkLimit)
        for name in wanted {
            // Non-blocking, so that a pipe in the directory cannot hang.
            let descriptor = open("\(directory)/\(name)", O_RDONLY | O_CLOEXEC | O_NONBLOCK)
            guard descriptor >= 0 else { continue }
            names.append(name)
            descriptors.append(descriptor)
        }
    }

    deinit { for descriptor in descriptors { close(descriptor) } }
}
