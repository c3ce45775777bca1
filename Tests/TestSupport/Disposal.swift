import Concurrency
import Glibc
import Synchronization

/// Cleans up after the test process has ended, even by SIGKILL.
///
/// A shell reads from a pipe; the end of this process is the end of the file.
final class Disposal: Sendable {
    private let pipe: Int32
    private let shell: Mutex<ChildProcess>

    /// The files in `directory`, and the servers whose data directory lies there.
    convenience init(directory: String) throws {
        // An initdb that was under way may still write, hence several rounds; once the directory has gone it cannot.
        // Its working directory distinguishes a server from another process with the id of a dead one.
        try self.init(
            """
            end='file=$1; pid=$(head -n 1 "$file"); [ "/proc/$pid/cwd" -ef "${file%/*}" ] || exit 0
              kill -QUIT "$pid"
              for look in $(seq 100); do kill -0 "$pid" 2>/dev/null || exit 0; sleep 0.05; done'
            for round in $(seq 50); do
              find "$1" -name postmaster.pid -exec sh -c "$end" sh {} ';'
              rm -rf -- "$1" && exit
              sleep 0.1
            done
            """, [directory])
    }

    /// The databases of a given server whose name starts with `prefix`.
    convenience init(databases prefix: String, of url: String) throws {
        try self.init(
            """
            psql -XAtq -d "$2" -c "SELECT format('DROP DATABASE %I WITH (FORCE);', datname)
              FROM pg_database WHERE starts_with(datname, '$1')" | psql -Xq -d "$2"
            """, [prefix, url])
    }

    /// A pooler and its directory.
    convenience init(pooler directory: String) throws {
        try self.init("kill \"$(cat \"$1\"/pid)\"; rm -rf -- \"$1\"", [directory])
    }

    private init(_ script: String, _ arguments: [String]) throws {
        var ends: [Int32] = [-1, -1]
        guard Glibc.pipe(&ends) == 0 else { throw PipeFailure(code: errno) }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        defer { close(ends[0]) }
        // A session of its own: an interrupt from the terminal must not take it too.
        shell = Mutex(
            try ChildProcess(
                "setsid", ["sh", "-c", "read -r line; \(script)", "sh"] + arguments, descriptors: [ends[0], -1, -1]))
        pipe = ends[1]
    }

    struct PipeFailure: Error { let code: Int32 }

    /// Clears away now. Blocks for the tenth of a second that this takes, which a test can afford.
    func clearAway() {
        shell.withLock {
            if $0.poll() == nil { _ = write(pipe, "\n", 1) }
            _ = $0.wait()
        }
    }

    deinit { close(pipe) }
}
