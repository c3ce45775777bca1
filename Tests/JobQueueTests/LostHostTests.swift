import Glibc
import TestSupport
import Testing

@testable import JobQueue

/// Hosts of databases that are gone without a word.
@Suite(.timeLimit(.minutes(1)))
struct LostHostTests {
    @Test func `the next host of a URL is tried after one that does not answer`() async throws {
        let (lost, standby) = (try SilentAddress(), try SilentServer())
        let url =
            "postgresql://larder@127.0.0.1:\(lost.port),127.0.0.1:\(standby.port)/larder?sslmode=disable&gssencmode=disable"
        let session = try Session(DatabaseURL(url), timeout: .seconds(2))
        let isAlive = session.isAlive()
        #expect(isAlive)
        #expect(standby.arrivals.connections == 1)
    }

    @Test(arguments: [("", 4_000 as Int32, 5 as Int32), ("&tcp_user_timeout=9000&keepalives_idle=60", 9_000, 60)])
    func `a session ends by itself after its host is lost, in a time that the URL may set`(
        settings: String, unacknowledged: Int32, idle: Int32
    ) async throws {
        let server = try SilentServer()
        let session = try Session(DatabaseURL(server.url + settings), timeout: .seconds(5))
        let descriptor = session.socketDescriptor
        func option(_ name: Int32, level: Int32 = Int32(IPPROTO_TCP)) -> Int32 {
            var (value, length) = (Int32(-1), socklen_t(MemoryLayout<Int32>.size))
            getsockopt(descriptor, level, name, &value, &length)
            return value
        }
        #expect(option(TCP_USER_TIMEOUT) == unacknowledged)
        #expect(option(SO_KEEPALIVE, level: SOL_SOCKET) == 1)
        #expect(option(TCP_KEEPIDLE) == idle)
        // It is open until here.
        _ = session.isAlive()
    }
}
