import Concurrency
import Foundation
import Glibc

/// httpbin, a server independent of Larder, by Debian's Python on a port of its own; ends with its last reference.
///
/// It inherits a socket that listens already, so that there is no moment to wait for and no port to lose.
package final class HttpbinServer: Sendable {
    private static let python = "/usr/bin/python3"

    /// Whether Debian's package python3-httpbin is installed.
    package static let isInstalled: Bool = {
        guard access(python, X_OK) == 0,
            var look = try? ChildProcess(
                python, ["-c", "import importlib.util as u, sys; sys.exit(u.find_spec('httpbin') is None)"],
                descriptors: [-1, -1, -1])
        else { return false }
        return look.wait() == .exited(0)
    }()

    package let port: UInt16
    private let life: Int32
    private nonisolated(unsafe) var child: ChildProcess  // protected by: touched by init and deinit only

    /// - Throws: `OriginServerError` when there is no socket for it.
    package init() throws {
        let (listener, port) = try listeningSocket("127.0.0.1")
        defer { close(listener) }
        // It ends at the end of its input, which this process keeps open, however this process ends.
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw OriginServerError(message: "pipe: errno \(errno)") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        defer { close(ends[0]) }
        life = ends[1]
        // A thread for each connection, HTTP/1.1 as far as Werkzeug's server speaks it.
        let program = """
            import os, threading
            from werkzeug.serving import make_server
            from httpbin import app
            threading.Thread(target=lambda: (os.read(0, 1), os._exit(0)), daemon=True).start()
            make_server('127.0.0.1', 0, app, threaded=True, fd=3).serve_forever()
            """
        child = try ChildProcess(Self.python, ["-c", program], descriptors: [ends[0], -1, -1, listener])
        self.port = port
    }

    deinit {
        close(life)
        child.kill(SIGTERM)
        _ = child.wait()
    }

    package func url(_ path: String) -> String { "http://127.0.0.1:\(port)\(path)" }
}
