private import CLinux
private import Glibc

/// Tests what the kernel denies this child.
enum SandboxTest {
    /// Whether each restriction holds, by name.
    static func results(memoryIsLimited: Bool) -> [String: Bool] {
        [
            "no network": isDenied { socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0) },
            "no files": isDenied { open("/dev/null", O_RDONLY | O_CLOEXEC) },
            "no programs": deniesPrograms, "no processes": larder_try_fork() < 0 && errno == EPERM,
            "memory limit": memoryIsLimited,
        ]
    }

    /// Whether a call that returns a descriptor is denied; a descriptor that it returns is closed.
    private static func isDenied(_ call: () -> Int32) -> Bool {
        let descriptor = call()
        if descriptor >= 0 { close(descriptor) }
        return descriptor < 0 && (errno == EPERM || errno == EACCES)
    }

    /// Tests with a program that does not exist, so that nothing starts where it is allowed.
    private static var deniesPrograms: Bool {
        var arguments: [UnsafeMutablePointer<CChar>?] = [nil]
        let result = execve("/nonexistent", &arguments, &arguments)
        return result < 0 && (errno == EPERM || errno == EACCES)
    }
}
