import ImageModel
import TestSupport
import Testing

@testable import Downloader
@testable import Prefetcher

@Suite("Robots directives and robots.txt", .timeLimit(.minutes(5)))
struct RobotsTests {
    @Test(
        "X-Robots-Tag applies to all robots, to Larder or to others",
        arguments: [
            ("noai", ["noai"]), ("NoAI, NoIndex", ["noai", "noindex"]), ("otherbot: noai, noindex", []),
            ("larder: noimageai", ["noimageai"]), ("otherbot: noai, larder: noindex", ["noindex"]),
            ("otherbot: noai;noindex", ["noindex"]),
            ("unavailable_after: 25 Jun 2010 15:00:00 PST", ["unavailable_after"]),
            ("max-image-preview: large, noai", ["max-image-preview", "noai"]), ("", []), (" , ,", []),
            ("noai, noai", ["noai"]), ("Larder: none", ["none"]), ("larderbot: noai", []),
        ])
    func directives(header: String, names: [String]) {
        #expect(RobotsDirectives(header).names == names)
    }

    @Test(
        "directives that forbid storing an image",
        arguments: [
            ("noai", true), ("noimageai", true), ("noindex", true), ("noimageindex", true), ("none", true),
            ("nofollow, noarchive", false), ("all", false), ("other: noai", false),
        ])
    func forbids(header: String, does: Bool) {
        #expect((RobotsDirectives(header).forbids != nil) == does)
    }

    /// RFC 9309, section 5.1 and 5.2, and what follows from section 2.2.
    @Test(
        "the longest match decides, allow on a tie, with wildcards and escapes as in RFC 9309",
        arguments: [
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
    func rules(target: String, rules: String, allows: Bool) {
        let file = "User-agent: *\n\(rules)\n"
        #expect(RobotsRules(Array(file.utf8)).allow(target) == allows)
    }

    @Test(
        "the own groups apply before the common ones, and groups of one name together",
        arguments: [
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
    func groups(file: String, allows: Bool) {
        #expect(RobotsRules(Array(file.utf8)).allow("/a") == allows)
    }

    @Test("only 500 KiB are read")
    func long() {
        let head = Array("User-agent: *\n".utf8)
        let rule = Array("\nDisallow: /a\n".utf8)
        let blanks = [UInt8](repeating: UInt8(ascii: "#"), count: RobotsRules.longest - head.count - rule.count)
        #expect(!RobotsRules(head + blanks + rule).allow("/a"))
        #expect(RobotsRules(head + blanks + [35, 35, 35] + rule).allow("/a"))
    }

    // MARK: - From a server

    private func keeper(
        _ server: OriginServer, refuses: Bool = true, file: Bool = true
    ) -> (downloader: ImageDownloader, keeper: RobotsCache) {
        var settings = RobotsCache.Settings()
        settings.refuses = refuses
        settings.readsFile = file
        let downloader = ImageDownloader(for: server, limits: patient)
        return (downloader, RobotsCache(settings, downloader: downloader))
    }

    @Test(
        "robots.txt by its status: absent allows, forbidden allows, failing is a failure that is tried again",
        arguments: [(404, nil), (403, nil), (401, nil), (410, nil), (500, 2001), (503, 2001), (429, 2001)]
            as [(Int, Int?)])
    func status(status: Int, code: Int?) async throws {
        let server = try OriginServer(["/robots.txt": .status(status)])
        let keeper = keeper(server).keeper
        do throws(FetchError) {
            let allowed = try await keeper.admit(SourceURL(server.url("/a")))
            #expect(allowed && code == nil)
        } catch {
            #expect(error.domainCode == code && error.httpStatus == status)
            #expect(RetryPolicy.mayHelp(domain: error.domain, code: error.domainCode, httpStatus: error.httpStatus))
        }
    }

    @Test("one file for many at once, kept; a redirect is followed; refused with 104 only where that is asked for")
    func obeyed() async throws {
        let server = try OriginServer([
            "/robots.txt": .redirect(to: "/rules"), "/rules": .body(Array("User-agent: *\nDisallow: /a".utf8)),
            "/a": .body(noise(10)), "/b": .body(noise(10)),
        ])
        let (downloader, keeper) = keeper(server)
        let file = BodyFile()
        var request = FetchRequest(url: try SourceURL(server.url("/a")), descriptor: file.descriptor)
        request.admits = RobotsVerdict(keeper).admits
        let wanted = request
        await withTaskGroup(of: String?.self) { group in
            for _ in 0..<20 {
                group.addTask {
                    do throws(FetchError) {
                        _ = try await downloader.fetch(wanted)
                        return nil
                    } catch { return error.row }
                }
            }
            for await row in group { #expect(row == "LarderErrorDomain 104") }
        }
        #expect(server.count("/a") == 0 && server.count("/robots.txt") == 1 && server.count("/rules") == 1)
        request.url = try SourceURL(server.url("/b"))
        _ = try await downloader.fetch(request)
        // Recorded only.
        var settings = RobotsCache.Settings()
        settings.readsFile = true
        let verdict = RobotsVerdict(RobotsCache(settings, downloader: downloader))
        request.url = try SourceURL(server.url("/a"))
        request.admits = verdict.admits
        let body = try await downloader.fetch(request)
        #expect(try verdict.said(of: body) == "robots.txt")
    }

    @Test("who waits for a file that another one asked for leaves when cancelled; the others get the answer")
    func cancelledWaiter() async throws {
        let gate = OriginGate()
        let server = try OriginServer([
            "/robots.txt": OriginReply([.wait(gate)] + OriginReply.body(Array("User-agent: *".utf8)).steps)
        ])
        let keeper = keeper(server).keeper
        let url = try SourceURL(server.url("/a"))
        @Sendable func admission() async -> FetchError? {
            do throws(FetchError) {
                _ = try await keeper.admit(url)
                return nil
            } catch { return error }
        }
        await withTaskGroup(of: FetchError?.self) { group in
            group.addTask { await admission() }
            await server.waitForRequests("/robots.txt")
            await withTaskGroup(of: FetchError?.self) { waiters in
                for _ in 0..<20 { waiters.addTask { await admission() } }
                #expect(await reached { await keeper.waiterCount >= 20 })
                waiters.cancelAll()
                for await error in waiters { #expect(error?.code == .cancelled) }
            }
            #expect(await keeper.waiterCount == 0)
            gate.openUp()
            for await error in group { #expect(error == nil) }
        }
        #expect(server.count("/robots.txt") == 1)
    }

    @Test("when the one who asks is cancelled, one of those who wait asks instead")
    func cancelledAsker() async throws {
        let gate = OriginGate()
        let server = try OriginServer()
        server.on("/robots.txt", .silent, OriginReply([.wait(gate)] + OriginReply.status(404).steps))
        let keeper = keeper(server).keeper
        let url = try SourceURL(server.url("/a"))
        let asker = Task { try await keeper.admit(url) }
        await server.waitForRequests("/robots.txt")
        async let waiting = keeper.admit(url)
        #expect(await reached { await keeper.waiterCount >= 1 })
        asker.cancel()
        await #expect(throws: FetchError.self) { try await asker.value }
        gate.openUp()
        #expect(try await waiting)
        #expect(server.count("/robots.txt") == 2)
    }

    @Test("of a file without end what counts is read, and the rest is not waited for", arguments: [false, true])
    func endless(declared: Bool) async throws {
        let head = OriginReply.head(200, declared ? [("Content-Length", "9000000000")] : [])
        let rules = Array("User-agent: *\nDisallow: /a\n".utf8)
        let server = try OriginServer(["/robots.txt": OriginReply([.bytes(head + rules), .pour])])
        let keeper = keeper(server, refuses: false).keeper
        #expect(try await keeper.admit(SourceURL(server.url("/a"))) == false)
        await server.waitForLeave()
        // Half a MiB, and what lay in sockets; not the 32 MiB that an image may have.
        #expect(server.poured < 16 << 20)
    }

    @Test("X-Robots-Tag counts with 304, too: refused with 104 where that is asked for")
    func unchangedAndRefused() async throws {
        let server = try OriginServer(["/a": .status(304, [("X-Robots-Tag", "noai")])])
        for refuses in [true, false] {
            let (downloader, keeper) = keeper(server, refuses: refuses, file: false)
            let source = HTTPSource(downloader, robots: keeper)
            var request = SourceRequest(url: server.url("/a"))
            request.validators = Validators(etag: "\"1\"")
            do throws(LoadError) {
                let answer = try await source.load(request, into: BodyFile.sink.descriptor)
                guard case .notModified = answer else { return #expect(Bool(false)) }
                #expect(!refuses)
            } catch {
                #expect(refuses && error.failure.code == 104)
            }
        }
    }

    @Test("X-Robots-Tag of all lines is recorded, and refused with 104 where that is asked for")
    func tagged() async throws {
        let server = try OriginServer([
            "/a": .body(
                noise(10),
                [("X-Robots-Tag", "otherbot: noindex"), ("x-robots-tag", "noai"), ("X-Robots-Tag", "nofollow")])
        ])
        let (downloader, keeper) = keeper(server, file: false)
        let body = try await downloader.fetch(server.url("/a"))
        #expect(try RobotsVerdict(nil).said(of: body) == "noai, nofollow")
        do throws(FetchError) {
            _ = try RobotsVerdict(keeper).said(of: body)
            Issue.record("not refused")
        } catch {
            #expect(error.row == "LarderErrorDomain 104")
        }
        #expect(server.requests.count == 1)
    }
}
