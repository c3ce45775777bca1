import ImageModel
import TestSupport
import Testing

@testable import Downloader

@Suite(.timeLimit(.minutes(5)))
struct CredentialTests {
    private func read(_ json: String) throws(VariantError) -> [String: CredentialProfile] {
        try CredentialProfile.profiles(json: Array(json.utf8))
    }

    @Test func `are read from JSON`() throws {
        let profiles = try read(
            """
            {"cdn": {"origins": ["https://IMG.example.com", "http://[::1]:8080"], "headers": {"X-Key": "k"},
             "cookies": {"sid": "1"}, "user": "u", "password": "p", "certificate": "c.pem", "key": "k.pem",
             "keyPassword": "q", "authorities": "ca.pem"}, "bare": {"origins": ["https://a.example"]}}
            """)
        let cdn = try #require(profiles["cdn"])
        #expect(cdn.covers(Origin(scheme: .https, host: "img.example.com", port: 443)))
        #expect(cdn.covers(Origin(scheme: .http, host: "::1", port: 8080)))
        #expect(!cdn.covers(Origin(scheme: .http, host: "img.example.com", port: 80)))
        #expect(!cdn.covers(Origin(scheme: .https, host: "img.example.com", port: 8443)))
        #expect(cdn.headers == [HeaderField("X-Key", "k")])
        #expect(cdn.cookies == [HeaderField("sid", "1")])
        #expect([cdn.user, cdn.password, cdn.certificate, cdn.key] == ["u", "p", "c.pem", "k.pem"])
        #expect([cdn.keyPassword, cdn.authorities] == ["q", "ca.pem"])
        #expect(profiles["bare"]?.user == nil)
    }

    @Test(arguments: [
        ("nonsense hush", "$: is not valid JSON"), ("[]", "$: must be an object"),
        (#"{"a": 1}"#, "$.a: must be an object"), (#"{"a": {}}"#, "$.a.origins: is missing"),
        (#"{"a": {"origins": []}}"#, "$.a.origins: must be a list of at least one origin"),
        (
            #"{"a": {"origins": ["ftp://x"]}}"#,
            "$.a.origins[0]: must be an origin such as https://img.example.com"
        ),
        (
            #"{"a": {"origins": ["https://x/p"]}}"#,
            "$.a.origins[0]: must be an origin such as https://img.example.com"
        ),
        (
            #"{"a": {"origins": ["https://x"], "pasword": "hush"}}"#,
            #"$.a.pasword: is not a known field; did you mean "password"?"#
        ),
        (#"{"a": {"origins": ["https://x"], "headers": {"X": "hush\r\n"}}}"#, "$.a.headers.X: cannot be sent"),
        (#"{"a": {"origins": ["https://x"], "cookies": {"X": "hush;"}}}"#, "$.a.cookies.X: cannot be sent"),
        (#"{"a": {"origins": ["https://x"], "password": "hush"}}"#, "$.a.password: requires a user"),
        (#"{"a": {"origins": ["https://x"], "key": "k"}}"#, "$.a.key: requires a certificate"),
        (#"{"a": {"origins": ["https://x"], "user": 7}}"#, "$.a.user: must be a string"),
    ])
    func `that are invalid are refused with their path and without their values`(json: String, message: String) throws {
        let error = #expect(throws: VariantError.self) { try read(json) }
        #expect(error?.description == message)
    }

    private func downloader(_ servers: OriginServer..., profile: (inout CredentialProfile) -> Void) throws
        -> ImageDownloader
    {
        let first = try SourceURL(servers[0].url("/")).origin
        var credentials = CredentialProfile(origins: [first])
        profile(&credentials)
        var configuration = FetchConfiguration(
            policy: AddressPolicy(
                allowedAddresses: [CIDR("127.0.0.0/8")].compactMap { $0 }, allowedPorts: Set(servers.map(\.port))))
        configuration.credentials = ["cdn": credentials]
        return ImageDownloader(configuration, resolver: StubResolver([:]))
    }

    private func request(_ url: String, _ profile: String?) -> FetchRequest {
        var request = FetchRequest(url)
        request.credentials = profile
        return request
    }

    @Test func `are sent to their origin when requested, and not to another one by a redirect`() async throws {
        let other = try OriginServer(["/": .body(noise(10))])
        let server = try OriginServer([
            "/here": .redirect(to: "/end"), "/end": .body(noise(10)), "/away": .redirect(to: other.url("/")),
        ])
        let downloader = try downloader(server, other) {
            $0.headers = [HeaderField("X-Key", "hush")]
            $0.cookies = [HeaderField("a", "1"), HeaderField("b", "2")]
        }
        for target in ["/here", "/away"] { _ = try await downloader.fetch(request(server.url(target), "cdn")) }
        #expect(server.requests.count == 3)
        #expect(server.requests.allSatisfy { $0.headers["x-key"] == "hush" && $0.headers["cookie"] == "a=1; b=2" })
        // Nor directly, although the request names the profile: it is limited to its origins.
        _ = try await downloader.fetch(request(other.url("/"), "cdn"))
        #expect(other.requests.count == 2)
        #expect(other.requests.allSatisfy { $0.headers["x-key"] == nil && $0.headers["cookie"] == nil })
        _ = try await downloader.fetch(request(server.url("/end"), nil))
        #expect(server.requests.last?.headers["x-key"] == nil)
        #expect(server.requests.last?.headers["cookie"] == nil)
    }

    @Test func `with a user respond to one demand for a password; a second demand is the response`() async throws {
        let server = try OriginServer()
        let demand = OriginReply.body(
            noise(100_000), status: 401, [("WWW-Authenticate", "Basic realm=\"x\"")])
        server.on("/good", demand, .body(noise(10)))
        server.on("/bad", demand, demand)
        let downloader = try downloader(server) {
            $0.user = "bob"
            $0.password = "hush"
        }
        #expect(try await downloader.fetch(request(server.url("/good"), "cdn")).bytes == 10)
        #expect(server.requests.map { $0.headers["authorization"] } == [nil, "Basic Ym9iOmh1c2g="])
        let error = await #expect(throws: FetchError.self) {
            try await downloader.fetch(request(server.url("/bad"), "cdn"))
        }
        #expect(error?.row == "SDWebImageErrorDomain 2001")
        #expect(error?.httpStatus == 401)
        #expect(server.count("/bad") == 2)
    }

    @Test(.enabled(if: NginxServer.program != nil))
    func `with a client certificate use a connection that no other request uses`() async throws {
        // A self-signed certificate serves for both sides; paths are relative to nginx's configuration.
        let server = try NginxServer(
            files: ["a": noise(10)], tls: true,
            locations: "ssl_client_certificate cert.pem; ssl_verify_client on;")
        let certificate = try #require(server.certificate)
        var profile = CredentialProfile(origins: [try SourceURL(server.url("/")).origin])
        profile.certificate = certificate
        profile.key = certificate.replacing("cert.pem", with: "key.pem")
        profile.authorities = certificate
        var configuration = FetchConfiguration(policy: loopback(server.port))
        configuration.credentials = ["mutual": profile]
        configuration.authorities = certificate
        let downloader = ImageDownloader(configuration, resolver: StubResolver([:]))
        #expect(try await downloader.fetch(request(server.url("/a"), "mutual")).bytes == 10)
        let stranger = await downloader.failure(server.url("/a"))
        #expect(stranger?.row == "SDWebImageErrorDomain 2001")
        #expect(stranger?.httpStatus == 400)
        let again = try await downloader.fetch(request(server.url("/a"), "mutual"))
        #expect(again.isConnectionReused)
        #expect(again.bytes == 10)
    }

    @Test func `that are not configured are 501, and nothing is sent`() async throws {
        let server = try OriginServer(["/": .body(noise(10))])
        let downloader = try downloader(server) { _ in }
        let error = await #expect(throws: FetchError.self) {
            try await downloader.fetch(request(server.url("/"), "nope\n"))
        }
        #expect(error?.row == "LarderErrorDomain 501")
        #expect(error?.profile == "nope%0A")
        #expect(error?.message.contains("'nope%0A'") == true)
        #expect(server.acceptedConnections == 0)
    }
}

@Suite(.timeLimit(.minutes(5)))
struct ProxyTests {
    @Test func `receives the requests and looks up the names; refused addresses in a URL stay refused`() async throws {
        let target = "http://nowhere.test/a?b"
        let proxy = try OriginServer([target: .redirect(to: "/c"), "http://nowhere.test/c": .body(noise(10))])
        let resolver = StubResolver(["proxy.test": [["127.0.0.1"]]])
        var configuration = FetchConfiguration()
        configuration.proxy = try FetchProxy("http://u:p@proxy.test:\(proxy.port)")
        let downloader = ImageDownloader(configuration, resolver: resolver)
        let result = try await downloader.fetch(target)
        #expect(result.bytes == 10)
        #expect(result.redirects == 1)
        #expect(resolver.lookups.allSatisfy { $0 == "proxy.test" })
        #expect(proxy.requests.allSatisfy { $0.headers["proxy-authorization"] == "Basic dTpw" })
        #expect(proxy.requests.allSatisfy { $0.headers["authorization"] == nil })
        #expect(await downloader.failure("http://127.0.0.1/")?.row == "LarderErrorDomain 101")
        #expect(await downloader.failure("http://nowhere.test:22/")?.row == "LarderErrorDomain 102")
        #expect(proxy.requests.count == 2)
    }
}
