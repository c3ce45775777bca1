import Glibc

/// Keeps 16 file descriptors free for the runtime, probes and the database.
///
/// libdispatch opens `/proc/self/task/N/stat` of its threads once a second while they have work, and traps if it
/// cannot. Probes, metrics and database connections need one each, even while nothing else can run.
package enum DescriptorReserve {
    package static let size = 16

    /// EMFILE if fewer than `size` descriptors are left, or the error number of a system without any; nil if there are
    /// enough. Costs one call of `open`, `close` and `getrlimit`.
    package static func shortage() -> Int32? {
        // The kernel returns the lowest free number.
        let lowest = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard lowest >= 0 else { return errno }
        close(lowest)
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return nil }
        return rlim_t(lowest) + rlim_t(size) > limit.rlim_cur ? EMFILE : nil
    }
}
