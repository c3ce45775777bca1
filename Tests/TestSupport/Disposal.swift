import Executors
import Glibc

/// What remains to be cleared away when the test process has ended, even by SIGKILL.
///
/// A shell reads from a pipe that nobody writes to; the end of this process is the end of the file.
final class Disposal: Sendable {
    private let pipe: Int32
    private let shell: ChildProcess

    /// The private cluster in `home`: its server ends at once and its files go.
    convenience init(home: String) throws {
        try self.init(
            """
            # A start that was under way may still bring the server up; without its files it ends by itself.
            for attempt in 1 2 3 4 5 6 7 8 9 10; do
              pid=$(head -n 1 "$1/postgres/data/postmaster.pid" 2>/dev/null)
              if [ -n "$pid" ]; then
                kill -QUIT "$pid"
                for wait in $(seq 100); do kill -0 "$pid" 2>/dev/null || break; sleep 0.05; done
                break
              fi
              sleep 0.1
            done
            rm -rf -- "$1"
            """, [home])
    }

    /// The databases of a given server whose name starts with `prefix`.
    convenience init(databases prefix: String, of url: String) throws {
        try self.init(
            """
            psql -XAtq -d "$2" -c "SELECT format('ALTER DATABASE %I IS_TEMPLATE false; DROP DATABASE %I WITH (FORCE)', datname, datname)
              FROM pg_database WHERE starts_with(datname, '$1')" | tr ';' '\\n' | psql -Xq -d "$2"
            """, [prefix, url])
    }

    private init(_ script: String, _ arguments: [String]) throws {
        var ends: [Int32] = [-1, -1]
        guard Glibc.pipe(&ends) == 0 else { throw SpawnFailure() }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        defer { close(ends[0]) }
        // A session of its own: an interrupt from the terminal must not take it too.
        let child = try ChildProcess(
            "setsid", ["sh", "-c", "read -r line; \(script)", "sh"] + arguments, descriptors: [ends[0], -1, -1])
        pipe = ends[1]
        shell = child
    }

    struct SpawnFailure: Error {}
}
