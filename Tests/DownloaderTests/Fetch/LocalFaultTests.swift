import Glibc
import TestSupport
import Testing

@testable import Downloader

/// A fault of the machine is error 501 and does not count against an origin.
@Suite(.timeLimit(.minutes(5)))
struct LocalFaultTests {
    private let local = "LarderErrorDomain 501"

    @Test(.enabled(if: NginxServer.program != nil))
    func `a missing file of authorities, of the downloader or of a profile, is 501`() async throws {
        let server = try NginxServer(files: ["a": noise(10)], tls: true)
        var configuration = FetchConfiguration(policy: loopback(server.port))
        configuration.authorities = "/nonexistent/authorities.pem"
        let downloader = ImageDownloader(configuration, resolver: StubResolver([:]))
        let ofAll = await downloader.failure(server.url("/a"))
        #expect(ofAll?.row == local)
        #expect(ofAll?.profile == nil)

        var profile = CredentialProfile(origins: [try SourceURL(server.url("/")).origin])
        profile.authorities = server.certificate
        profile.certificate = "/nonexistent/client.pem"
        configuration.authorities = nil
        configuration.credentials = ["mutual": profile]
        var request = FetchRequest(server.url("/a"))
        request.credentials = "mutual"
        let other = ImageDownloader(configuration, resolver: StubResolver([:]))
        let error = await #expect(throws: FetchError.self) { try await other.fetch(request) }
        #expect(error?.row == local)
        #expect(error?.profile == "mutual", "only the requests with this profile are concerned")
        #expect(error?.message.contains("/nonexistent/client.pem") == true, "\(error?.message ?? "")")

        profile.certificate = nil
        profile.authorities = "/nonexistent/authorities.pem"
        configuration.credentials = ["mutual": profile]
        let third = ImageDownloader(configuration, resolver: StubResolver([:]))
        let ofProfile = await #expect(throws: FetchError.self) { try await third.fetch(request) }
        #expect(ofProfile?.row == local)
        #expect(ofProfile?.profile == "mutual")
    }

    @Test func `a local fault does not count against the origin`() {
        #expect(RequestOutcome(FetchError(.localFault, "")) == .unknown)
    }

    @Test func `a name server that cannot be reached is 501, and the failure is not cached`() async throws {
        // No test listens on this address, so the kernel refuses the datagram.
        let names = NameServers(servers: "127.53.53.53:9")
        let resolver = Resolver { host, done in names.query(host, done) }
        await #expect(throws: LookupFailure.unreachable) {
            try await resolver.addresses(of: "image.example.", within: .seconds(60))
        }
        let downloader = ImageDownloader(FetchConfiguration(), resolver: resolver)
        #expect(await downloader.failure("http://image.example./a")?.row == local)
        var cache = LookupCache()
        cache.store(.failure(.unreachable), for: "a", at: .now)
        #expect(cache.answer(for: "a", at: .now) == nil)
    }

    @Test
    func `too many open files, no memory and a full disk are faults of the machine; a refused connection is not`() {
        for number in [EMFILE, ENFILE, ENOMEM, ENOBUFS, ENOSPC, EDQUOT, EROFS] {
            #expect(LocalFault.reason(number) != nil, "errno \(number)")
        }
        for number in [0, ECONNREFUSED, ETIMEDOUT, EHOSTUNREACH, EFBIG] {
            #expect(LocalFault.reason(number) == nil, "errno \(number)")
        }
    }
}
