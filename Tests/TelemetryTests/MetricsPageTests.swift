import Downloader
import Foundation
import TestSupport
import Testing

@testable import Telemetry

@Suite(.timeLimit(.minutes(1)))
struct MetricsPageTests {
    private let resource = TelemetryResource(version: "1.0", instance: "7", host: "h")
    private let span = TraceContext(trace: 0xab, span: 0xcd, flags: 1)

    /// A counter, a gauge and a histogram of a fast and a slow stage, of which the slow one is recorded.
    private var page: MetricsPage {
        var histogram = Histogram()
        histogram.add(0.02)
        histogram.add(70, in: span, at: .milliseconds(1_700_000_000_500))
        var page = MetricsPage()
        page.add("larder_jobs_total", .counter, "Attempts.", [([("outcome", "a\"b")], 3)])
        page.add("larder_queue_oldest_ready_seconds", .gauge, "Time.", 1.5)
        page.add("larder_stage_duration_seconds", "Time in a stage.", [([("stage", "fetch")], histogram)])
        page.add("larder_none_total", .counter, "Without samples.", [])
        return page
    }

    @Test func `OpenMetrics has short names of counters, exemplars and an end, the older format has none of them`() {
        let old = page.text()
        #expect(old.contains("# TYPE larder_jobs_total counter\nlarder_jobs_total{outcome=\"a\\\"b\"} 3\n"))
        #expect(old.contains("\nlarder_stage_duration_seconds_bucket{stage=\"fetch\",le=\"1\"} 1\n"))
        #expect(!old.contains("trace_id"))
        #expect(!old.contains("EOF"))
        let new = page.text(.openMetrics)
        #expect(new.contains("# TYPE larder_jobs counter\nlarder_jobs_total{outcome=\"a\\\"b\"} 3\n"))
        #expect(new.contains("\nlarder_stage_duration_seconds_bucket{stage=\"fetch\",le=\"1.0\"} 1\n"))
        let ids = "trace_id=\"000000000000000000000000000000ab\",span_id=\"00000000000000cd\""
        #expect(new.contains("le=\"+Inf\"} 2 # {\(ids)} 70.0 1700000000.5\n"), "\(new)")
        #expect(new.matches(of: /trace_id/).count == 1)
        #expect(new.hasSuffix("\n# EOF\n"))
        #expect(!new.contains("larder_none"))
    }

    @Test func `the format is the one that the request prefers`() {
        let prometheus = "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.2,*/*;q=0.1"
        for accept in [prometheus, "application/openmetrics-text", "Application/OpenMetrics-Text; q=1, */*"] {
            #expect(MetricsPage.Format(accept: accept) == .openMetrics, "\(accept)")
        }
        for accept in [
            nil, "", "*/*", "text/plain", "application/openmetrics-text;q=0", "text/html;q",
            "text/plain;q=0.9,application/openmetrics-text;q=0.5",
        ] {
            #expect(MetricsPage.Format(accept: accept) == .prometheus, "\(accept ?? "none")")
        }
    }

    @Test func `a request to a collector has the page's families, cumulative`() throws {
        let body = OTLP.metrics(page, of: resource, from: .seconds(1_700_000_000), at: .seconds(1_700_000_060))
        let text = String(decoding: body, as: UTF8.self)
        let request = try #require(try JSONSerialization.jsonObject(with: Data(body)) as? [String: Any])
        let block = try #require((request["resourceMetrics"] as? [[String: Any]])?.first)
        let scope = try #require((block["scopeMetrics"] as? [[String: Any]])?.first)
        let metrics = try #require(scope["metrics"] as? [[String: Any]])
        #expect(
            metrics.map { $0["name"] as? String } == [
                "larder_jobs_total", "larder_queue_oldest_ready_seconds", "larder_stage_duration_seconds",
            ])
        func points(_ place: Int, _ kind: String) throws -> (data: [String: Any], point: [String: Any]) {
            let data = try #require(metrics[place][kind] as? [String: Any], "\(text)")
            return (data, try #require((data["dataPoints"] as? [[String: Any]])?.first))
        }
        let (sum, count) = try points(0, "sum")
        #expect(sum["aggregationTemporality"] as? Int == 2)
        #expect(sum["isMonotonic"] as? Bool == true)
        #expect(count["asDouble"] as? Double == 3)
        #expect(count["startTimeUnixNano"] as? String == "1700000000000000000")
        #expect(count["timeUnixNano"] as? String == "1700000060000000000")
        #expect(metrics[1]["unit"] as? String == "s")
        #expect(try points(1, "gauge").point["asDouble"] as? Double == 1.5)
        let (histogram, point) = try points(2, "histogram")
        #expect(histogram["aggregationTemporality"] as? Int == 2)
        #expect(point["count"] as? String == "2")
        #expect(point["sum"] as? Double == 70.02)
        #expect((point["explicitBounds"] as? [Double]) == Histogram.bounds)
        let buckets = try #require(point["bucketCounts"] as? [String])
        #expect(buckets.count == Histogram.bounds.count + 1)
        #expect(buckets.last == "1")
        let exemplar = try #require((point["exemplars"] as? [[String: Any]])?.first)
        #expect(exemplar["spanId"] as? String == "00000000000000cd")
        #expect(exemplar["asDouble"] as? Double == 70)
        #expect(text.contains(#"{"key":"outcome","value":{"stringValue":"a\"b"}}"#))
    }

    @Test func `pages are sent at the interval, a failure is reported once and counted`() async throws {
        let path = "/v1/metrics"
        let server = try OriginServer()
        server.on(path, .status(500), .status(500), .body(Array("{}".utf8)))
        let exporter = MetricsExporter(try OTLPClient(server.url(path)), of: resource, interval: .milliseconds(1))
        let page = page
        let reports = AsyncStream<String?>.makeStream()
        await withDiscardingTaskGroup { group in
            group.addTask { await exporter.run({ page }) { reports.continuation.yield($0) } }
            var received: [String?] = []
            for await report in reports.stream.prefix(2) { received.append(report) }
            group.cancelAll()
            #expect(received == ["the collector answered 500", nil])
        }
        #expect(exporter.failures == 2)
        #expect(server.requests.first?.body.isEmpty == false)
    }
}
