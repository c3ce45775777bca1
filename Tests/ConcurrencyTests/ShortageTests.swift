import Concurrency
import Glibc
import Testing

@Suite(.timeLimit(.minutes(1)))
struct ShortageTests {
    @Test func `a thread that the system refuses ends the process with an error that names it`() async throws {
        let result = try #require(
            await #expect(processExitsWith: .exitCode(1), observing: [\.standardErrorContent]) {
                // The limit does not hold for root.
                if geteuid() == 0 { setuid(61_234) }
                var none = rlimit(rlim_cur: 0, rlim_max: 0)
                setrlimit(__rlimit_resource_t(__RLIMIT_NPROC.rawValue), &none)
                withExtendedLifetime(ThreadPool(name: "scarce", threads: 1)) {}
            })
        let text = String(decoding: result.standardErrorContent, as: UTF8.self)
        #expect(text.hasPrefix("larder: cannot start the thread 'scarce': "), "\(text)")
        #expect(text.hasSuffix(" (pthread_create, errno \(EAGAIN))\n"), "\(text)")
    }
}
