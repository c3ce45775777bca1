internal import Concurrency
import Glibc

/// Runs programs with the shell.
package enum Shell {
    /// The standard output of `command`.
    ///
    /// - Throws: `MeasuringError` if it fails.
    package static func output(_ command: String) throws -> String {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw MeasuringError("pipe: errno \(errno)") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        defer { close(ends[0]) }
        let started = Result { try ChildProcess("/bin/sh", ["-c", command], descriptors: [-1, ends[1], 2]) }
        close(ends[1])
        var process = try started.get()
        var output: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = read(ends[0], &part, part.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            output += part.prefix(count)
        }
        guard process.wait() == .exited(0) else { throw MeasuringError("'\(command.prefix(80))' failed") }
        return String(decoding: output, as: UTF8.self)
    }
}
