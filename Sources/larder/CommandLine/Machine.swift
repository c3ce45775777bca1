import Foundation
import Glibc

/// Facts of the machine that defaults depend on.
enum Machine {
    /// Cores this process may use, at least 1.
    static var cores: Int { max(1, ProcessInfo.processInfo.activeProcessorCount) }

    /// The host's name.
    static var host: String { ProcessInfo.processInfo.hostName }

    /// Lets this process open as many files as it may: a slot needs a connection, a body and its variants.
    static func allowOpenFiles() {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }
}
