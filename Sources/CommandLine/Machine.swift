private import CLinux
import FoundationEssentials
import Glibc

/// The machine and the limits of this process.
package enum Machine {
    /// Available cores, at least 1.
    package static var cores: Int { max(1, ProcessInfo.processInfo.activeProcessorCount) }

    package static var host: String { ProcessInfo.processInfo.hostName }

    /// The soft limit of open files.
    package static var openFiles: Int {
        var limit = rlimit()
        return getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 ? Int(clamping: limit.rlim_cur) : 0
    }

    /// Raises the soft limit of open files to the hard limit: a slot needs a connection, a body and its variants.
    package static func allowOpenFiles() {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }

    /// Keeps the process's initial niceness for all threads and child processes. Dispatch sets its threads to 0, and a
    /// root process may raise its priority. Call it before the first thread.
    package static func keepNiceness() {
        guard getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0) > 0 else { return }
        _ = larder_keep_priority()
    }
}
