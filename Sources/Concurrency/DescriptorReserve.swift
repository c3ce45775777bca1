import Glibc

/// Descriptors that stay free for what cannot do without one.
///
/// libdispatch opens `/proc/self/task/N/stat` of its threads once a second while they have work, and traps when it
/// cannot. Probes, metrics and connections to the database need one each, also while nothing else can be done.
package enum DescriptorReserve {
    /// How many stay free.
    package static let size = 16

    /// EMFILE when fewer than `size` descriptors are left, or the error number of a system that has none; nil when
    /// there are enough. One call of `open`, `close` and `getrlimit`.
    package static func shortage() -> Int32? {
        // The kernel gives the lowest number that is free.
        let lowest = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard lowest >= 0 else { return errno }
        close(lowest)
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return nil }
        return rlim_t(lowest) + rlim_t(size) > limit.rlim_cur ? EMFILE : nil
    }
}
