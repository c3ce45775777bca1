import Concurrency
import Glibc
import ImageModel
import JobQueue
import Terminal
package import Worker

/// Sends a worker's state to systemd as defined by sd_notify(3): datagrams to the socket in NOTIFY_SOCKET.
///
/// libsystemd would be a dependency for one call of sendto(2). READY is sent once the settings are read and the cache
/// is open. With WATCHDOG_USEC, WATCHDOG is sent twice per period while tasks run and the claim loop iterates.
package final class ServiceManager: WorkerService {
    private let socket: Int32
    private let address: sockaddr_un
    private let length: socklen_t
    private let interval: Duration?
    private let claimClock: ClaimClock
    private let counts = Locked((done: 0, failed: 0))

    /// Nil unless a service manager started this process.
    package init?(
        _ claimClock: ClaimClock, _ variable: (String) -> String? = { getenv($0).map { String(cString: $0) } }
    ) {
        self.claimClock = claimClock
        guard let path = variable("NOTIFY_SOCKET"), let first = path.utf8.first,
            first == UInt8(ascii: "/") || first == UInt8(ascii: "@")
        else { return nil }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        // An abstract socket's name begins with a zero byte.
        let name = first == UInt8(ascii: "@") ? [0] + path.utf8.dropFirst() : Array(path.utf8)
        guard name.count < MemoryLayout.size(ofValue: address.sun_path) else { return nil }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
        socket = Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard socket >= 0 else { return nil }
        self.address = address
        length = socklen_t(MemoryLayout<sa_family_t>.size + name.count)
        // Ignore another process's watchdog.
        let isOwn = variable("WATCHDOG_PID").map { $0 == "\(getpid())" } ?? true
        interval = isOwn ? variable("WATCHDOG_USEC").flatMap { Int64($0) }.map { .microseconds($0 / 2) } : nil
    }

    deinit { close(socket) }

    /// Sends lines such as `READY=1`. Does not block; unsendable lines are lost.
    package func report(_ lines: String) {
        var address = address
        _ = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                sendto(socket, lines, lines.utf8.count, Int32(Int(MSG_DONTWAIT) | Int(MSG_NOSIGNAL)), $0, length)
            }
        }
    }

    package func observe(_ event: WorkerEvent) {
        switch event {
        case .started, .queueAvailable: report("STATUS=working")
        case .stopping(let running): report("STOPPING=1\nSTATUS=stopping, \(running) running")
        case .queueUnavailable: report("STATUS=the database is not available")
        case .localFault(let fault?): report("STATUS=\(PrintableText.text(fault.message))")
        case .localFault(nil): report("STATUS=working")
        case .completed(let report):
            let isFailed = if case .failed = report.decision { true } else { false }
            counts.withLock { $0 = ($0.done + 1, $0.failed + (isFailed ? 1 : 0)) }
        default: break
        }
    }

    /// As in `/livez`.
    private var hangs: Bool {
        claimClock.lastRound.map { $0.duration(to: .now) > WorkerHealth.longestHang } ?? false
    }

    /// Runs `body` with the watchdog, before the worker runs it as a service.
    package func whileRunning<Value: Sendable>(_ body: () async throws -> Value) async throws -> Value {
        async let _: Void = run()
        return try await body()
    }

    package func run() async {
        var shown = 0
        while !Task.isCancelled {
            let (done, failed) = counts.withLock { $0 }
            let status = done == shown ? "" : "\nSTATUS=working, \(done.counted("attempt")) ended, \(failed) failed"
            shown = done
            report((interval == nil || hangs ? "" : "WATCHDOG=1") + status)
            try? await Task.sleep(for: interval ?? .seconds(10))
        }
    }
}
