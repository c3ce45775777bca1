import Glibc
import Testing

@testable import Downloader

/// A process that may not open another descriptor.
@Suite(.timeLimit(.minutes(1)))
struct ShortageTests {
    @Test func `name servers without a descriptor end the process with an error that names them`() async throws {
        let result = try #require(
            await #expect(processExitsWith: .exitCode(1), observing: [\.standardErrorContent]) {
                var none = rlimit(rlim_cur: 0, rlim_max: 0)
                setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &none)
                withExtendedLifetime(NameServers(servers: "127.0.0.1:53")) {}
            })
        let text = String(decoding: result.standardErrorContent, as: UTF8.self)
        #expect(text.contains("larder: cannot look up names: "), "\(text)")
    }

    @Test func `libcurl without descriptors ends the process with an error that names it`() async throws {
        let result = try #require(
            await #expect(processExitsWith: .exitCode(1), observing: [\.standardErrorContent]) {
                var none = rlimit(rlim_cur: 0, rlim_max: 0)
                setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &none)
                withExtendedLifetime(TransferLoop(connections: 1, perHost: 0)) {}
            })
        let text = String(decoding: result.standardErrorContent, as: UTF8.self)
        #expect(text.contains("larder: cannot start libcurl: "), "\(text)")
    }
}
