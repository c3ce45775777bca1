import TestSupport
import Testing

/// The domain, code and attempts of every kind of bad URL.
@Suite(.timeLimit(.minutes(5)))
struct BadURLTests {
    private struct Bad {
        let url: String
        let kind: String
        var attempts = 1
    }

    /// URLs whose connections fail have their own origins, so that no origin is given up.
    private func bad(_ scene: Scene) throws -> [Bad] {
        let image = try TestImage.bytes("plain.jpg")
        let origin = scene.origin
        origin.on("/500.jpg", .status(500))
        origin.on("/410.jpg", .status(410))
        origin.on("/truncated.jpg", .truncated(Array(image.prefix(400)), promised: image.count))
        origin.on("/page.jpg", .body(Array("<!doctype html><p>Not found".utf8)))
        origin.on("/empty.jpg", .body([]))
        origin.on("/broken.jpg", .body(try TestImage.bytes("truncated.jpg")))
        origin.on("/large.jpg", .body(image + [UInt8](repeating: 0, count: 20_000)))
        origin.on("/chunked-large.jpg", .chunked([image, [UInt8](repeating: 0, count: 20_000)]))
        origin.on("/loop.jpg", .redirect(to: "/loop.jpg"))
        origin.on("/pixels.png", .body(try TestImage.bytes("bomb-pixels.png")))
        origin.on("/edge.png", .body(try TestImage.bytes("bomb-edge.png")))
        origin.on("/inward.jpg", .redirect(to: "http://10.0.0.1/secret.jpg"))
        let dead = scene.dead.port
        return [
            Bad(url: origin.url("/404.jpg"), kind: "SDWebImageErrorDomain 2001"),
            Bad(url: origin.url("/410.jpg"), kind: "SDWebImageErrorDomain 2001"),
            Bad(url: origin.url("/500.jpg"), kind: "SDWebImageErrorDomain 2001", attempts: 2),
            Bad(url: origin.url("/truncated.jpg"), kind: "NSURLErrorDomain -1005", attempts: 2),
            Bad(url: origin.url("/page.jpg"), kind: "SDWebImageErrorDomain 1001"),
            Bad(url: origin.url("/empty.jpg"), kind: "SDWebImageErrorDomain 1001"),
            Bad(url: origin.url("/broken.jpg"), kind: "SDWebImageErrorDomain 1001"),
            Bad(url: origin.url("/large.jpg"), kind: "LarderErrorDomain 201"),
            Bad(url: origin.url("/chunked-large.jpg"), kind: "LarderErrorDomain 201"),
            Bad(url: "http://127.0.0.1:\(dead)/refused.jpg", kind: "NSURLErrorDomain -1004", attempts: 2),
            Bad(url: origin.url("/loop.jpg"), kind: "NSURLErrorDomain -1007"),
            Bad(url: origin.url("/pixels.png"), kind: "LarderErrorDomain 202"),
            Bad(url: origin.url("/edge.png"), kind: "LarderErrorDomain 203"),
            Bad(url: "http://10.0.0.1/private.jpg", kind: "LarderErrorDomain 101"),
            Bad(url: "http://[::1]/private.jpg", kind: "LarderErrorDomain 101"),
            Bad(url: origin.url("/inward.jpg"), kind: "LarderErrorDomain 101"),
            Bad(url: "http://127.0.0.1:22/port.jpg", kind: "LarderErrorDomain 102"),
            Bad(url: "ftp://127.0.0.1/a.jpg", kind: "NSURLErrorDomain -1002", attempts: 0),
            Bad(url: "file:///etc/passwd", kind: "LarderErrorDomain 101"),
            Bad(url: "file:a.jpg", kind: "SDWebImageErrorDomain 1000", attempts: 0),
            Bad(url: "file://host/a.jpg", kind: "SDWebImageErrorDomain 1000", attempts: 0),
            Bad(url: "", kind: "SDWebImageErrorDomain 1000", attempts: 0),
            Bad(url: "http://", kind: "SDWebImageErrorDomain 1000", attempts: 0),
            Bad(url: "no url at all", kind: "SDWebImageErrorDomain 1000", attempts: 0),
            Bad(url: "http://127.0.0.1:99999/a.jpg", kind: "SDWebImageErrorDomain 1000", attempts: 0),
        ]
    }

    @Test func `each bad URL fails with its own domain and code while a good URL succeeds`() async throws {
        let scene = try await Scene()
        let bad = try bad(scene)
        let good = try scene.serve("plain.jpg", at: "/good.jpg")
        var command = scene.larder(
            [
                "run", "--json", "--retries", "1", "--retry-base", "1ms", "--max-body", "10000", "--allow-port",
                "\(scene.origin.port)", "--allow-port", "\(scene.dead.port)",
            ] + bad.map(\.url) + [good])
        command.environment["LARDER_ALLOW_ADDRESS"] = "127.0.0.1/32"
        let outcome = try await command.run()
        #expect(outcome.code == 1)
        let lines = try RunLines(outcome)
        for one in bad {
            let job = try lines.job(one.url)
            #expect(job.outcome == "failed", "\(one.url)")
            #expect(job.original == nil, "\(one.url)")
            #expect(job.variants.isEmpty, "\(one.url)")
            #expect(job.error?.kind == one.kind, "\(one.url): \(job.error?.message ?? "")")
            #expect(job.error?.message.isEmpty == false)
            let failure = try lines.failure(one.url)
            #expect(failure.kind == one.kind)
            #expect(failure.attempts == one.attempts, "\(one.url)")
        }
        #expect(try lines.job(good).outcome == "succeeded")
        #expect(lines.jobs.count == bad.count + 1)
        let report = lines.report
        #expect([report.total, report.finished, report.succeeded] == [bad.count + 1, bad.count + 1, 1])
        #expect([report.failed, report.skipped] == [bad.count, bad.count])
        #expect(scene.stored.count == 1, "only the good one is stored, and nothing in part")
        #expect(scene.temporary == [], "only the good one is stored, and nothing in part")
        #expect(try await scene.faults() == [])
    }

    @Test func `a silent origin is a timeout after each attempt`() async throws {
        let scene = try await Scene()
        scene.origin.on("/silent.jpg", .silent)
        let url = scene.origin.url("/silent.jpg")
        let lines = try RunLines(
            try await scene.larder("run", "--json", "--retries", "1", "--idle-timeout", "300ms", url))
        #expect(try lines.failure(url).kind == "NSURLErrorDomain -1001")
        #expect(try lines.failure(url).attempts == 2)
    }

    @Test func `loopback is refused unless it is allowed`() async throws {
        let scene = try await Scene()
        let url = try scene.serve("plain.jpg", at: "/a.jpg")
        var command = scene.larder(["run", "--json", url])
        command.environment["LARDER_ALLOW_ADDRESS"] = nil
        let lines = try RunLines(try await command.run())
        #expect(try lines.failure(url).kind == "LarderErrorDomain 101")
        #expect(scene.origin.requests.isEmpty)
    }

    @Test func `an error message names the limit and its value`() async throws {
        let scene = try await Scene()
        let large = try scene.serve("plain.jpg", at: "/large.jpg")
        let wide = try scene.serve("rgb.png", at: "/wide.png")
        let lines = try RunLines(
            try await scene.larder("run", "--json", "--max-body", "900", "--max-edge", "10", large, wide))
        #expect(try lines.failure(large).message.contains("900"))
        #expect(try lines.failure(wide).kind == "LarderErrorDomain 203")
        #expect(try lines.failure(wide).message.contains("10"))
    }
}
