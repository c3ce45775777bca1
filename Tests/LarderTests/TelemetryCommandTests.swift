import Foundation
import TestSupport
import Testing

/// Traces from the command to a collector, which is a scripted server.
@Suite(.timeLimit(.minutes(5)))
struct TelemetryCommandTests {
    private let scene: Scene
    private let collector: OriginServer
    private let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    private var parent: String { "00-\(trace)-00f067aa0ba902b7-01" }
    private let otherTrace = "5bf92f3577b34da6a3ce929d0e0e4736"
    private var other: String { "00-\(otherTrace)-00f067aa0ba902b8-01" }

    init() async throws {
        scene = try await Scene()
        let accepted = OriginReply.body(Array("{}".utf8))
        collector = try OriginServer(["/v1/traces": accepted, "/v1/metrics": accepted])
    }

    private func exporting(_ arguments: [String], _ environment: [String: String] = [:]) -> LarderCommand {
        var command = scene.larder(arguments)
        command.environment["OTEL_EXPORTER_OTLP_ENDPOINT"] = "http://127.0.0.1:\(collector.port)"
        command.environment.merge(environment) { $1 }
        return command
    }

    /// The bodies that the collector has got at a path.
    private func bodies(_ path: String) -> [[UInt8]] { collector.requests.filter { $0.target == path }.map(\.body) }

    /// All spans that the collector has got.
    private func spans() throws -> [[String: Any]] {
        try bodies("/v1/traces").flatMap { bytes in
            let body = try #require(try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any])
            let resources = try #require(body["resourceSpans"] as? [[String: Any]])
            let scopes = resources.flatMap { $0["scopeSpans"] as? [[String: Any]] ?? [] }
            return scopes.flatMap { $0["spans"] as? [[String: Any]] ?? [] }
        }
    }

    private func named(_ name: String) throws -> [[String: Any]] {
        try spans().filter { $0["name"] as? String == name }
    }

    @Test func `run sends the spans of its job as children of the traceparent`() async throws {
        let image = try scene.serve("plain.jpg", at: "/a.jpg")
        scene.origin.on("/moved?sig=SECRET", .redirect(to: image))
        let outcome = try await exporting(
            ["run", "--traceparent", parent, "--variant", Variants.small, scene.origin.url("/moved?sig=SECRET")],
            ["OTEL_SERVICE_NAME": "images"]
        ).run()
        #expect(outcome.code == 0, "\(outcome.errorText)")
        let all = try spans()
        #expect(
            all.compactMap { $0["name"] as? String }.sorted() == [
                "GET", "GET", "commit", "complete", "decode", "fetch", "job", "look up", "transcode", "variant", "wait",
            ])
        #expect(Set(all.compactMap { $0["traceId"] as? String }) == [trace])
        let job = try #require(try named("job").first)
        #expect(job["parentSpanId"] as? String == "00f067aa0ba902b7")
        let fetch = try #require(try named("fetch").first)
        #expect(fetch["parentSpanId"] as? String == job["spanId"] as? String)
        #expect(Set(try named("GET").compactMap { $0["parentSpanId"] as? String }) == [fetch["spanId"] as? String])
        let transcode = try #require(try named("transcode").first)
        #expect(try named("variant").first?["parentSpanId"] as? String == transcode["spanId"] as? String)
        for span in all {
            let start = try #require((span["startTimeUnixNano"] as? String).flatMap { UInt64($0) })
            let end = try #require((span["endTimeUnixNano"] as? String).flatMap { UInt64($0) })
            #expect(start <= end)
        }
        let body = String(decoding: try #require(bodies("/v1/traces").first), as: UTF8.self)
        #expect(body.contains(#"{"key":"service.name","value":{"stringValue":"images"}}"#))
        #expect(!body.contains("SECRET"))
    }

    @Test func `TRACEPARENT is used, and one that is none is noted`() async throws {
        var command = scene.larder(["enqueue", "--batch", "b", "http://127.0.0.1:\(scene.dead.port)/1"])
        command.environment["TRACEPARENT"] = parent
        #expect(try await command.run().code == 0)
        #expect(try await scene.sql("SELECT traceparent FROM larder_data.job") == parent)
        command = scene.larder(["enqueue", "--batch", "c", "http://127.0.0.1:\(scene.dead.port)/2"])
        command.environment["TRACEPARENT"] = "nothing"
        let outcome = try await command.run()
        #expect(outcome.code == 0)
        #expect(outcome.errorText.contains("TRACEPARENT is not a traceparent"), "\(outcome.errorText)")
        #expect(try await scene.sql("SELECT count(traceparent) FROM larder_data.job") == "1")
    }

    @Test(arguments: ["silent", "refusing", "absent"])
    func `a collector that does not work costs no job`(kind: String) async throws {
        let port = kind == "absent" ? scene.dead.port : collector.port
        for path in ["/v1/traces", "/v1/metrics"] { collector.on(path, kind == "silent" ? .silent : .status(500)) }
        let images = try (0..<3).map { try scene.serve("plain.jpg", at: "/\($0).jpg") }
        let outcome = try await exporting(
            ["run", "--json", "--otlp-endpoint", "http://127.0.0.1:\(port)/"] + images,
            ["OTEL_BSP_SCHEDULE_DELAY": "1", "OTEL_EXPORTER_OTLP_TIMEOUT": "300", "OTEL_METRIC_EXPORT_INTERVAL": "1"]
        ).run()
        #expect(outcome.code == 0, "\(outcome.errorText)")
        let report = try #require(outcome.lines.last)
        #expect(try fields(report)["succeeded"] as? Int == 3)
        #expect(outcome.errorText.contains(/the collector has not accepted \d+ of \d+ spans:/), "\(outcome.errorText)")
    }

    @Test func `logs, failures and the status of a job have the trace of the enqueue`() async throws {
        let missing = scene.origin.url("/missing.jpg")
        let enqueued = try await scene.larder("enqueue", "--batch", "b", "--traceparent", parent, "--json", missing)
        let answer = try #require(enqueued.lines.first)
        let job = try #require(try fields(answer)["job"] as? Int)
        let worked = try await scene.larder("work", "--drain", "--log-format", "json", "--log-level", "debug")
        let completed = worked.errorText.split(separator: "\n").first { $0.contains("\"completed\"") }
        let line = try #require(completed)
        #expect(try fields(String(line))["trace_id"] as? String == trace)
        let report = try fields(try await scene.larder("report", "b", "--json").text)
        let failure = try #require((report["failures"] as? [[String: Any]])?.first)
        #expect(failure["traceID"] as? String == trace)
        let status = try await scene.larder("status", "--job", "\(job)")
        #expect(status.text.contains("\ntrace \(trace)\n"), "\(status.text)")
        #expect(collector.requests.isEmpty)
    }

    @Test func `the trace of a joined item has a span that links to the job, and back`() async throws {
        let url = try scene.serve("plain.jpg", at: "/a.jpg")
        _ = try await scene.larder("enqueue", "--batch", "a", "--traceparent", parent, url)
        _ = try await scene.larder("enqueue", "--batch", "b", "--traceparent", other, url)
        let outcome = try await exporting(["work", "--drain"]).run()
        #expect(outcome.code == 0, "\(outcome.errorText)")
        let job = try #require(try named("job").first)
        #expect(job["traceId"] as? String == trace)
        #expect((job["links"] as? [[String: Any]])?.compactMap { $0["traceId"] as? String } == [otherTrace])
        let joined = try #require(try named("joined job").first)
        #expect(joined["traceId"] as? String == otherTrace)
        #expect(joined["parentSpanId"] as? String == "00f067aa0ba902b8")
        let link = try #require((joined["links"] as? [[String: Any]])?.first)
        #expect(link["spanId"] as? String == job["spanId"] as? String)
    }

    @Test func `a later attempt begins a trace that links to the producer's span`() async throws {
        scene.origin.on("/a.jpg", .status(503), .body(try TestImage.bytes("plain.jpg")))
        let outcome = try await exporting(["run", "--traceparent", parent, scene.origin.url("/a.jpg")]).run()
        #expect(outcome.code == 0, "\(outcome.errorText)")
        let jobs = try named("job")
        #expect(jobs.count == 2)
        #expect(jobs.first?["traceId"] as? String == trace)
        let status = try #require(jobs.first?["status"] as? [String: Any])
        #expect(status["code"] as? Int == 2)
        let later = try #require(jobs.last)
        #expect(later["traceId"] as? String != trace)
        #expect(later["parentSpanId"] == nil)
        #expect((later["links"] as? [[String: Any]])?.first?["traceId"] as? String == trace)
    }

    @Test func `the metrics of a run are sent at its end, and each signal has its own settings`() async throws {
        let url = try scene.serve("plain.jpg", at: "/a.jpg")
        #expect(try await exporting(["run", url], ["OTEL_TRACES_EXPORTER": "none"]).run().code == 0)
        #expect(bodies("/v1/traces").isEmpty)
        let body = String(decoding: try #require(bodies("/v1/metrics").last), as: UTF8.self)
        #expect(body.contains("\"name\":\"larder_downloads_total\""), "\(body)")
        #expect(body.contains("\"name\":\"larder_stage_duration_seconds\""), "\(body)")
        let count = bodies("/v1/metrics").count
        #expect(try await exporting(["run", url], ["OTEL_METRICS_EXPORTER": "none"]).run().code == 0)
        #expect(bodies("/v1/metrics").count == count)
        collector.on("/mine", .body(Array("{}".utf8)))
        let own = ["OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://127.0.0.1:\(collector.port)/mine"]
        #expect(try await exporting(["run", url], own).run().code == 0)
        #expect(!bodies("/mine").isEmpty)
        #expect(bodies("/v1/metrics").count == count)
        let unknown = try await exporting(["run", url], ["OTEL_METRICS_EXPORTER": "console"]).run()
        #expect(unknown.errorText.contains("OTEL_METRICS_EXPORTER: 'console' is not known"), "\(unknown.errorText)")
        #expect(bodies("/v1/metrics").count == count)
    }

    @Test(.enabled(if: PythonCollector.isInstalled, "scripts/collector has installed no packages"))
    func `OpenTelemetry's own messages decode every body`() async throws {
        scene.origin.on("/a.jpg", .status(503), .body(try TestImage.bytes("plain.jpg")))
        let urls = [scene.origin.url("/a.jpg"), scene.origin.url("/missing.jpg")]
        let outcome = try await exporting(
            ["run", "--traceparent", parent, "--variant", Variants.small] + urls,
            ["OTEL_METRIC_EXPORT_INTERVAL": "100"]
        ).run()
        #expect(outcome.code == 1, "\(outcome.errorText)")
        for path in ["/v1/traces", "/v1/metrics"] {
            #expect(!bodies(path).isEmpty)
            for body in bodies(path) { try await PythonCollector.check(["decode", path], body) }
        }
    }

    @Test func `traces are recorded as the producer says, else by the sampler`() async throws {
        let url = try scene.serve("plain.jpg", at: "/a.jpg")
        let off = ["OTEL_TRACES_SAMPLER": "parentbased_always_off"]
        #expect(try await exporting(["run", url], off).run().code == 0)
        #expect(try await exporting(["run", "--traceparent", String(parent.dropLast()) + "0", url]).run().code == 0)
        #expect(bodies("/v1/traces").isEmpty)
        #expect(try await exporting(["run", "--traceparent", parent, url], off).run().code == 0)
        #expect(try named("job").count == 1)
        #expect(try await exporting(["run", url], ["OTEL_SDK_DISABLED": "true"]).run().code == 0)
        #expect(try named("job").count == 1)
        #expect(try await exporting(["run", url]).run().code == 0)
        #expect(try named("job").count == 2)
    }
}
