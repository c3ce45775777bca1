import Concurrency
import Downloader
import Foundation
import TestSupport
import Testing

@testable import Telemetry

@Suite(.timeLimit(.minutes(5)))
struct SpanExporterTests {
    private let resource = TelemetryResource(version: "1", instance: "1", host: "h")
    private let path = "/v1/traces"

    private func spans(_ count: Int) -> [Span] {
        let root = TraceContext.root(isSampled: true)
        return (0..<count).map { _ in Span("x", root.child(), parent: root.span, start: .zero, end: .seconds(1)) }
    }

    private func exporter(
        _ url: String, timeout: Duration = .seconds(60), _ change: (inout SpanExporter.Settings) -> Void = { _ in }
    ) throws -> SpanExporter {
        var client = OTLPClient.Settings()
        client.timeout = timeout
        client.headers = [HeaderField("X-Team", "photos")]
        var settings = SpanExporter.Settings()
        settings.pauses = []
        settings.delay = .milliseconds(1)
        change(&settings)
        return SpanExporter(try OTLPClient(url, client), of: resource, settings: settings)
    }

    /// Runs the exporter until the condition holds, and gives what it reported.
    private func run(_ exporter: SpanExporter, until condition: () async -> Bool) async -> [String?] {
        let reports = Locked<[String?]>([])
        await withDiscardingTaskGroup { group in
            group.addTask { await exporter.run { report in reports.withLock { $0.append(report) } } }
            #expect(await reached { await condition() })
            group.cancelAll()
        }
        return reports.withLock { $0 }
    }

    @Test func `spans reach the collector with the settings' headers`() async throws {
        let server = try OriginServer([path: .body(Array("{}".utf8))])
        let exporter = try exporter(server.url(path))
        exporter.add(spans(3))
        let reports = await run(exporter) { exporter.counts.sent == 3 }
        #expect(reports.isEmpty)
        let request = try #require(server.requests.first)
        #expect(request.headers["content-type"] == "application/json")
        #expect(request.headers["x-team"] == "photos")
        let body = try #require(try JSONSerialization.jsonObject(with: Data(request.body)) as? [String: Any])
        #expect(body.keys.sorted() == ["resourceSpans"])
    }

    @Test func `a full request is sent before the delay`() async throws {
        let server = try OriginServer([path: .body(Array("{}".utf8))])
        let exporter = try exporter(server.url(path)) {
            $0.delay = .seconds(3_600)
            $0.limits.batchSpans = 2
        }
        exporter.add(spans(2))
        _ = await run(exporter) { exporter.counts.sent == 2 }
        #expect(server.requests.count == 1)
    }

    @Test func `an unavailable collector gets the request again, one that refuses it does not`() async throws {
        let server = try OriginServer()
        server.on(path, .status(503), .body(Array("{}".utf8)))
        let again = try exporter(server.url(path)) { $0.pauses = [.zero, .zero] }
        again.add(spans(2))
        _ = await run(again) { again.counts.sent == 2 }
        #expect(again.counts.failures == 1)
        server.on(path, .status(400))
        let refused = try exporter(server.url(path)) { $0.pauses = [.zero, .zero] }
        refused.add(spans(2))
        let reports = await run(refused) { refused.counts.dropped == 2 }
        #expect(refused.counts.failures == 1)
        #expect(reports == ["the collector answered 400"])
    }

    @Test func `spans that the collector rejects in an accepted request are dropped`() async throws {
        let answer = Array(#"{"partialSuccess": {"rejectedSpans": "2", "errorMessage": "late"}}"#.utf8)
        let server = try OriginServer([path: .body(answer)])
        let exporter = try exporter(server.url(path))
        exporter.add(spans(3))
        _ = await run(exporter) { exporter.counts.sent == 1 }
        #expect(exporter.counts.dropped == 2)
        #expect(OTLPClient.rejected(Array(#"{"partialSuccess": {"rejectedDataPoints": 4}}"#.utf8)) == 4)
        #expect(OTLPClient.rejected(Array("<html>".utf8)) == 0)
    }

    @Test func `without a collector spans are dropped, and the failure is reported once`() async throws {
        let dead = try DeadPort()
        let exporter = try exporter("http://127.0.0.1:\(dead.port)/v1/traces") { $0.limits.batchSpans = 1 }
        exporter.add(spans(3))
        let reports = await run(exporter) { exporter.counts.dropped == 3 }
        #expect(reports.count == 1)
        #expect(exporter.counts.sent == 0)
    }

    @Test func `a collector that hangs delays neither the spans' makers nor the end`() async throws {
        let server = try OriginServer([path: .silent])
        let exporter = try exporter(server.url(path)) {
            $0.limits.spans = 4
            $0.limits.batchSpans = 2
        }
        exporter.add(spans(2))
        _ = await run(exporter) { server.count(path) == 1 }
        for _ in 0..<10 { exporter.add(spans(2)) }
        #expect(exporter.counts.dropped == 16)
        #expect(await exporter.flush(within: .milliseconds(50)) != nil)
        #expect(exporter.counts.dropped == 22)
        #expect(exporter.counts.sent == 0)
    }

    @Test func `a request that the end interrupts is sent again with the rest`() async throws {
        let server = try OriginServer()
        server.on(path, .silent, .body(Array("{}".utf8)))
        let exporter = try exporter(server.url(path)) { $0.limits.batchSpans = 2 }
        exporter.add(spans(2))
        _ = await run(exporter) { server.count(path) == 1 }
        exporter.add(spans(1))
        #expect(await exporter.flush(within: .seconds(60)) == nil)
        #expect(exporter.counts.sent == 3)
        #expect(exporter.counts.dropped == 0)
    }

    @Test func `a URL that cannot be requested is refused`() {
        for url in ["", "collector:4318", "ftp://collector/", "http://"] {
            #expect(throws: FetchError.self, "\(url)") { try OTLPClient(url) }
        }
    }
}
