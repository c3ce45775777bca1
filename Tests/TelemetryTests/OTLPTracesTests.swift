import Foundation
import Testing

@testable import Telemetry

@Suite(.timeLimit(.minutes(1)))
struct OTLPTracesTests {
    private let resource = TelemetryResource(version: "1.0", instance: "7", host: "h", list: "team=photos,a=b%20c")

    private func object(_ bytes: [UInt8]) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any])
    }

    private func list(_ value: Any?) throws -> [[String: Any]] { try #require(value as? [[String: Any]]) }

    @Test func `a request has OTLP's structure`() throws {
        let parent = try #require(
            TraceContext(traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"))
        let context = parent.child()
        var span = Span(
            "fetch", context, parent: parent.span, start: .seconds(1_700_000_000), end: .milliseconds(1_700_000_000_250)
        )
        span.kind = .client
        span.attributes = [
            ("url.full", .text("https://a/\"b\"")), ("bytes", .integer(5)), ("share", .number(0.5)),
            ("again", .flag(true)),
        ]
        span.links = [parent]
        span.error = "timed out"
        let request = try object(OTLP.traces([span], of: resource))
        let block = try #require(try list(request["resourceSpans"]).first)
        let attributes = try list(try #require(block["resource"] as? [String: Any])["attributes"])
        #expect(attributes.compactMap { $0["key"] as? String }.sorted().contains("service.name"))
        let scope = try #require(try list(block["scopeSpans"]).first)
        #expect((scope["scope"] as? [String: String]) == ["name": "larder", "version": "1.0"])
        let sent = try #require(try list(scope["spans"]).first)
        #expect(sent["traceId"] as? String == "4bf92f3577b34da6a3ce929d0e0e4736")
        #expect(sent["spanId"] as? String == context.spanID)
        #expect(sent["parentSpanId"] as? String == "00f067aa0ba902b7")
        #expect(sent["kind"] as? Int == 3)
        #expect(sent["startTimeUnixNano"] as? String == "1700000000000000000")
        #expect(sent["endTimeUnixNano"] as? String == "1700000000250000000")
        let values = try list(sent["attributes"]).map { try #require($0["value"] as? [String: Any]) }
        #expect(values[0]["stringValue"] as? String == "https://a/\"b\"")
        #expect(values[1]["intValue"] as? String == "5")
        #expect(values[2]["doubleValue"] as? Double == 0.5)
        #expect(values[3]["boolValue"] as? Bool == true)
        let link = try #require(try list(sent["links"]).first)
        #expect(link["spanId"] as? String == "00f067aa0ba902b7")
        let status = try #require(sent["status"] as? [String: Any])
        #expect(status["code"] as? Int == 2)
        #expect(status["message"] as? String == "timed out")
    }

    @Test func `a span that ends before it starts has no duration`() {
        let span = Span("x", .root(isSampled: true), parent: nil, start: .seconds(5), end: .seconds(4))
        #expect(span.end == .seconds(5))
    }

    @Test func `the resource has the attributes of the environment`() {
        #expect(resource.attributes["team"] == "photos")
        #expect(resource.attributes["a"] == "b c")
        #expect(resource.attributes["service.name"] == "larder")
        let named = TelemetryResource(
            version: "1", instance: "7", host: "h", list: "service.name=list", service: "variable")
        #expect(named.attributes["service.name"] == "variable")
        let broken = TelemetryResource(version: "1", instance: "7", host: "h", list: "team=photos,nothing")
        #expect(broken.attributes["team"] == nil)
    }
}
