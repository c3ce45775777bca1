private import Glibc
internal import ImageModel

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
