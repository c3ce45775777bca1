private import CLinux
private import Glibc

/// What the kernel really keeps from this child, found by trying.
enum SandboxTest {
    /// By name, whether it holds.
    static func measured(memoryIsLimited: Bool) -> [String: Bool] {
        [
            "no network": isRefused { socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0) },
            "no files": isRefused { open("/dev/null", O_RDONLY | O_CLOEXEC) },
            "no programs": refusesPrograms, "no processes": refusesProcesses, "memory limit": memoryIsLimited,
        ]
    }

    /// Whether a call that gives a descriptor is forbidden; what it gives all the same is closed.
    private static func isRefused(_ call: () -> Int32) -> Bool {
        let descriptor = call()
        if descriptor >= 0 { close(descriptor) }
        return descriptor < 0 && (errno == EPERM || errno == EACCES)
    }

    /// By a program there is not, so that nothing is started where it is allowed.
    private static var refusesPrograms: Bool {
        var arguments: [UnsafeMutablePointer<CChar>?] = [nil]
        let result = execve("/there/is/no/such/program", &arguments, &arguments)
        return result < 0 && (errno == EPERM || errno == EACCES)
    }

    private static var refusesProcesses: Bool {
        let process = larder_try_fork()
        return process < 0 && errno == EPERM
    }
}
