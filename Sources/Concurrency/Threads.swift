private import CLinux
import Glibc

/// Blocks SIGPIPE on the calling thread: a write to a closed pipe or connection then fails with EPIPE instead of ending
/// the process.
package func blockBrokenPipes() {
    var set = sigset_t()
    sigemptyset(&set)
    sigaddset(&set, SIGPIPE)
    pthread_sigmask(SIG_BLOCK, &set, nil)
}

/// Starts a detached thread with a stack of 8 MiB, which C libraries expect; the kernel keeps 15 bytes of `name`. Ends
/// the process if the system refuses the thread.
///
/// Detached, because ThreadSanitizer reports a thread that is never joined as a leak.
func startThread(_ name: String, _ body: @escaping @Sendable () -> Void) {
    final class Body: Sendable {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    defer { pthread_attr_destroy(&attributes) }
    pthread_attr_setstacksize(&attributes, 8 << 20)
    pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
    var thread = pthread_t()
    let code = pthread_create(
        &thread, &attributes,
        { raw in
            guard let raw else { return nil }
            Unmanaged<Body>.fromOpaque(raw).takeRetainedValue().run()
            return nil
        },
        Unmanaged.passRetained(
            Body {
                larder_thread_set_name(String(name.prefix(15)))
                body()
            }
        ).toOpaque())
    guard code == 0 else { Shortage.exit("cannot start the thread '\(name)'", "pthread_create", errno: code) }
}

/// Ends a process to which the system refuses an indispensable thread or descriptor.
package enum Shortage {
    /// Writes `larder: WHAT: CAUSE (CALL, errno N)` to standard error and exits with code 1.
    ///
    /// Not a trap, because the machine is at fault. No caller could continue: an executor without its thread runs no
    /// job. Exit handlers do not run, as other threads may hold what they need.
    package static func exit(_ what: String, _ call: String, errno code: Int32) -> Never {
        let line = "larder: \(what): \(String(cString: strerror(code))) (\(call), errno \(code))\n"
        _ = Array(line.utf8).withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
        _exit(1)
    }
}
