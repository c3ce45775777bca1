import TestSupport
import Testing

@testable import Downloader

@Suite(.timeLimit(.minutes(5)))
struct RobotsTests {
    @Test(arguments: [
        ("noai", ["noai"]), ("NoAI, NoIndex", ["noai", "noindex"]), ("otherbot: noai, noindex", []),
        ("larder: noimageai", ["noimageai"]), ("otherbot: noai, larder: noindex", ["noindex"]),
        ("otherbot: noai;noindex", ["noindex"]),
        ("unavailable_after: 25 Jun 2010 15:00:00 PST", ["unavailable_after"]),
        ("max-image-preview: large, noai", ["max-image-preview", "noai"]), ("", []), (" , ,", []),
        ("noai, noai", ["noai"]), ("Larder: none", ["none"]), ("larderbot: noai", []),
    ])
    func `X-Robots-Tag applies to all robots, to Larder or to others`(header: String, names: [String]) {
        #expect(RobotsDirectives(header).names == names)
    }

    @Test(arguments: [
        ("noai", true), ("noimageai", true), ("noindex", true), ("noimageindex", true), ("none", true),
        ("nofollow, noarchive", false), ("all", false), ("other: noai", false),
    ])
    func `directives that forbid storing an image`(header: String, does: Bool) {
        #expect((RobotsDirectives(header).forbids != nil) == does)
    }

    /// The examples of RFC 9309, sections 5.1 and 5.2, and rules of section 2.2.
    @Test(arguments: [
        ("/x", "Disallow: /", false), ("/x", "Disallow:", true), ("/x", "", true),
        ("/example/page/", "Allow: /example/page/\nDisallow: /example/page/disallowed.gif", true),
        ("/example/page/disallowed.gif", "Allow: /example/page/\nDisallow: /example/page/disallowed.gif", false),
        ("/page", "Allow: /page\nDisallow: /page", true), ("/page.gif", "Disallow: /*.gif$", false),
        ("/page.gif?x", "Disallow: /*.gif$", true), ("/a/b/c", "Disallow: /a/*/c", false),
        ("/a/c", "Disallow: /a/*/c", true), ("/foo/bar/baz", "Disallow: *baz", false),
        ("/path/file-with-a-%2A.html", "Disallow: /path/file-with-a-%2A.html", false),
        ("/foo/bar?baz=https://foo.bar", "Disallow: /foo/bar?baz=https%3A%2F%2Ffoo.bar", true),
        ("/foo/bar/%E3%83%84", "Disallow: /foo/bar/ツ", false),
        ("/foo/bar/%62%61%7A", "Disallow: /foo/bar/baz", false),
        ("/robots.txt", "Disallow: /", true), ("/x", "disALLOW : /x # comment", false), ("/x", "Disallow /x", true),
        ("/%+1", "Disallow: /%+1", false), ("/aaab", "Disallow: /a*a*b$", false),
        ("/ab", "Disallow: /a*a*b$", true),
    ])
    func `the longest match decides, allow on a tie, with wildcards and escapes as in RFC 9309`(
        target: String, rules: String, allows: Bool
    ) {
        let file = "User-agent: *\n\(rules)\n"
        #expect(RobotsRules(Array(file.utf8)).allow(target) == allows)
    }

    @Test(arguments: [
        ("User-agent: *\nDisallow: /\n\nUser-agent: larder\nAllow: /", true),
        ("User-agent: larder/1.0 (x)\nDisallow: /a\nUser-agent: *\nAllow: /", false),
        (
            "User-agent: LARDER\nDisallow: /b\n\nUser-agent: other\nDisallow: /\n\nUser-agent: larder\nDisallow: /a",
            false
        ),
        ("User-agent: other\nUser-agent: larder\nDisallow: /a", false), ("User-agent: other\nDisallow: /a", true),
        ("User-agent: larderbot\nDisallow: /a", true), ("Disallow: /a\nUser-agent: *\nDisallow: /b", true),
        ("\u{feff}User-agent: *\rDisallow: /a\r\n", false), ("User-agent: larder\nSitemap: x\nDisallow: /a", false),
        ("User-agent: larder\nDisallow:\nUser-agent: *\nDisallow: /", true),
    ])
    func `the own groups apply before the common ones, and groups of one name together`(file: String, allows: Bool) {
        #expect(RobotsRules(Array(file.utf8)).allow("/a") == allows)
    }

    @Test func `only 500 KiB are read`() {
        let head = Array("User-agent: *\n".utf8)
        let rule = Array("\nDisallow: /a\n".utf8)
        let blanks = [UInt8](repeating: UInt8(ascii: "#"), count: RobotsRules.maximumBytes - head.count - rule.count)
        #expect(!RobotsRules(head + blanks + rule).allow("/a"))
        #expect(RobotsRules(head + blanks + [35, 35, 35] + rule).allow("/a"))
    }

    // MARK: - From a server

    private func downloader(_ server: OriginServer, refuses: Bool = true, readsFile: Bool = true) -> ImageDownloader {
        var configuration = FetchConfiguration(policy: loopback(server.port), limits: longLimits)
        configuration.robots.refuses = refuses
        configuration.robots.readsFile = readsFile
        return ImageDownloader(configuration, resolver: StubResolver([:]))
    }

    @Test(
        arguments: [(404, nil), (403, nil), (401, nil), (410, nil), (500, 2001), (503, 2001), (429, 2001)]
            as [(Int, Int?)])
    func `an absent or forbidden robots.txt allows, a failing one is a failure that may be retried`(
        status: Int, code: Int?
    ) async throws {
        let server = try OriginServer(["/robots.txt": .status(status)])
        do throws(FetchError) {
            let allowed = try await downloader(server).isAllowedByRobots(
                SourceURL(server.url("/a")), for: FetchRequest(server.url("/a")))
            #expect(allowed)
            #expect(code == nil)
        } catch {
            #expect(error.domainCode == code)
            #expect(error.httpStatus == status)
        }
    }

    @Test
    func `one robots.txt serves many downloads, redirects are followed, and images are refused with 104 if configured`()
        async throws
    {
        let server = try OriginServer([
            "/robots.txt": .redirect(to: "/rules"), "/rules": .body(Array("User-agent: *\nDisallow: /a".utf8)),
            "/a": .body(noise(10)), "/b": .body(noise(10)),
        ])
        let downloader = downloader(server)
        await withTaskGroup(of: String?.self) { group in
            for _ in 0..<20 { group.addTask { await downloader.failure(server.url("/a"))?.row } }
            for await row in group { #expect(row == "LarderErrorDomain 104") }
        }
        #expect(server.count("/a") == 0)
        #expect(server.count("/robots.txt") == 1)
        #expect(server.count("/rules") == 1)
        _ = try await downloader.fetch(server.url("/b"))
        let recording = self.downloader(server, refuses: false)
        #expect(try await recording.fetch(server.url("/a")).robots == "robots.txt")
    }

    @Test
    func `a download that waits for another one's robots.txt ends when cancelled; the others continue`() async throws {
        let gate = OriginGate()
        let server = try OriginServer([
            "/robots.txt": OriginReply([.wait(gate)] + OriginReply.body(Array("User-agent: *".utf8)).steps),
            "/a": .body(noise(10)),
        ])
        let downloader = downloader(server)
        await withTaskGroup(of: FetchError?.self) { group in
            group.addTask { await downloader.failure(server.url("/a")) }
            await server.waitForRequests("/robots.txt")
            await withTaskGroup(of: FetchError?.self) { waiters in
                for _ in 0..<20 { waiters.addTask { await downloader.failure(server.url("/a")) } }
                #expect(await reached { downloader.robots.waiterCount >= 20 })
                waiters.cancelAll()
                for await error in waiters { #expect(error?.code == .cancelled) }
            }
            #expect(downloader.robots.waiterCount == 0)
            gate.openUp()
            for await error in group { #expect(error == nil) }
        }
        #expect(server.count("/robots.txt") == 1)
    }

    @Test func `when the download that loads robots.txt is cancelled, one that waits loads it`() async throws {
        let gate = OriginGate()
        let server = try OriginServer(["/a": .body(noise(10))])
        server.on("/robots.txt", .silent, OriginReply([.wait(gate)] + OriginReply.status(404).steps))
        let downloader = downloader(server)
        let loader = Task { await downloader.failure(server.url("/a")) }
        await server.waitForRequests("/robots.txt")
        async let waiting = downloader.failure(server.url("/a"))
        #expect(await reached { downloader.robots.waiterCount >= 1 })
        loader.cancel()
        #expect(await loader.value?.code == .cancelled)
        gate.openUp()
        #expect(await waiting == nil)
        #expect(server.count("/robots.txt") == 2)
    }

    @Test(.enabled(if: NginxServer.program != nil))
    func `robots.txt is requested with the image's profile`() async throws {
        let server = try NginxServer(
            files: ["a": noise(10), "b": noise(10), "robots.txt": Array("User-agent: *\nDisallow: /b".utf8)], tls: true)
        var profile = CredentialProfile(origins: [try SourceURL(server.url("/")).origin])
        profile.authorities = server.certificate
        var configuration = FetchConfiguration(policy: loopback(server.port))
        configuration.credentials = ["private": profile]
        configuration.robots.readsFile = true
        let downloader = ImageDownloader(configuration, resolver: StubResolver([:]))
        for (path, robots) in [("/a", nil), ("/b", "robots.txt")] {
            var request = FetchRequest(server.url(path))
            request.credentials = "private"
            #expect(try await downloader.fetch(request).robots == robots)
        }
    }

    @Test(arguments: [false, true])
    func `of an endless robots.txt the first 500 KiB are read`(declared: Bool) async throws {
        let head = OriginReply.head(200, declared ? [("Content-Length", "9000000000")] : [])
        let rules = Array("User-agent: *\nDisallow: /a\n".utf8)
        let server = try OriginServer(["/robots.txt": OriginReply([.bytes(head + rules), .pour])])
        let isAllowed = try await downloader(server, refuses: false).isAllowedByRobots(
            SourceURL(server.url("/a")), for: FetchRequest(server.url("/a")))
        #expect(!isAllowed)
        await server.waitForLeave()
        // Half a MiB and the contents of socket buffers, not the 32 MiB of an image.
        #expect(server.poured < 16 << 20)
    }

    @Test(arguments: [true, false])
    func `X-Robots-Tag of a 304 is refused with 104 if configured`(refuses: Bool) async throws {
        let server = try OriginServer(["/a": .status(304, [("X-Robots-Tag", "noai")])])
        var request = FetchRequest(server.url("/a"))
        request.validators = Validators(etag: "\"1\"")
        do throws(FetchError) {
            let response = try await downloader(server, refuses: refuses, readsFile: false).fetch(request)
            #expect(response.isNotModified)
            #expect(response.robots == "noai")
            #expect(!refuses)
        } catch {
            #expect(refuses)
            #expect(error.row == "LarderErrorDomain 104")
        }
    }

    @Test func `all lines of X-Robots-Tag are recorded, and refused with 104 if configured`() async throws {
        let server = try OriginServer([
            "/a": .body(
                noise(10),
                [("X-Robots-Tag", "otherbot: noindex"), ("x-robots-tag", "noai"), ("X-Robots-Tag", "nofollow")])
        ])
        let recording = downloader(server, refuses: false, readsFile: false)
        #expect(try await recording.fetch(server.url("/a")).robots == "noai, nofollow")
        let refusing = downloader(server, readsFile: false)
        #expect(await refusing.failure(server.url("/a"))?.row == "LarderErrorDomain 104")
        #expect(server.requests.count == 2)
    }
}
