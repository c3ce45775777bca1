internal import Concurrency
import FoundationEssentials
import Glibc

/// A directory for one benchmark, removed when this process ends for any reason, after stopping a server in it.
///
/// A shell reads a pipe that is never written to: this process's end closes the pipe.
package final class Scratch: Sendable {
    package let path: String
    private let pipe: Int32
    private let shell: ChildProcess

    /// Creates the directory in `parent`, by default the system's temporary directory, accessible to the server's user.
    package init(in parent: String? = nil) throws {
        let parent = parent ?? FileManager.default.temporaryDirectory.path
        path = "\(parent)/larder-bench-\(UUID().uuidString.prefix(8).lowercased())"
        guard mkdir(path, 0o755) == 0 else { throw MeasuringError("cannot write in \(parent) (errno \(errno))") }
        var ends: [Int32] = [-1, -1]
        guard Glibc.pipe(&ends) == 0 else { throw MeasuringError("pipe: errno \(errno)") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        defer { close(ends[0]) }
        pipe = ends[1]
        // A new session, so that an interrupt from the terminal does not end the shell.
        shell = try ChildProcess(
            "setsid",
            [
                "sh", "-c",
                """
                read -r line
                for file in "$1"/home/postgres/data/postmaster.pid "$1"/clusters/*/data/postmaster.pid; do
                  pid=$(head -n 1 "$file" 2>/dev/null)
                  [ -n "$pid" ] || continue
                  kill -QUIT "$pid"
                  for wait in $(seq 100); do kill -0 "$pid" 2>/dev/null || break; sleep 0.05; done
                done
                rm -rf -- "$1"
                """, "sh", path,
            ], descriptors: [ends[0], -1, -1])
    }

    deinit {
        // `ChildProcess` kills the shell when it is deinitialised, so the directory is removed here.
        clear(path)
        close(pipe)
    }

    package func clear(_ path: String) { try? FileManager.default.removeItem(atPath: path) }

    package var fileSystem: String {
        let answer = try? Shell.output("df --output=fstype '\(path)' | tail -n 1")
        return answer?.split(whereSeparator: \.isWhitespace).first.map(String.init) ?? "unknown file system"
    }
}
