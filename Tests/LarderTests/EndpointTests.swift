import Foundation
import TestSupport
import Testing

@testable import Commands
@testable import Dashboard
@testable import HTTPServer
@testable import Reports

/// `larder work --listen`.
@Suite(.timeLimit(.minutes(5)))
struct EndpointTests {
    /// A worker that listens, and its port.
    private static func listening(_ scene: Scene) async throws -> (RunningCommand, UInt16) {
        let worker = try scene.larder(["work", "--listen", "127.0.0.1:0"]).start()
        return (worker, try await ListeningWorker.port(of: worker))
    }

    @Test func `addresses are read, and a lone port is loopback`() {
        #expect(ListenAddress("9090") == ListenAddress("127.0.0.1:9090"))
        #expect(ListenAddress(":9090")?.host == "0.0.0.0")
        #expect(ListenAddress("[::1]:0")?.host == "::1")
        for text in ["", "a", "::1:90", "host:", "host:65536", "[::1]"] {
            #expect(ListenAddress(text) == nil, "\(text)")
        }
    }

    @Test func `the counters of metrics equal the report's, and promtool accepts the page`() async throws {
        let scene = try await Scene()
        let urls =
            try (0..<20).map { try scene.serve("plain.jpg", at: "/\($0).jpg") } + [scene.origin.url("/missing.jpg")]
        let (worker, port) = try await Self.listening(scene)
        let run = scene.larder(["enqueue", "--batch", "b", "--variant", Variants.small] + urls)
        #expect(try await run.run().code == 0)
        try await scene.until("(SELECT finished_at IS NOT NULL FROM larder.progress)")
        #expect(
            try await reached {
                try await ListeningWorker.get(port, "/metrics").value("larder_queue_open_items{queue=\"default\"}") == 0
            })
        let page = try await ListeningWorker.get(port, "/metrics")
        #expect(page.status == 200)
        let report = try fields(try await scene.larder("report", "b", "--json").text)
        #expect(page.value("larder_jobs_total{outcome=\"succeeded\"}") == report["succeeded"] as? Double)
        #expect(page.value("larder_jobs_total{outcome=\"failed\"}") == report["failed"] as? Double)
        #expect(page.value("larder_downloads_total") == report["downloads"] as? Double)
        #expect(page.value("larder_variants_total") == report["variants"] as? Double)
        #expect(page.value("larder_downloaded_bytes_total") == report["bytesIn"] as? Double)
        #expect(page.value("larder_stored_bytes_total") == report["bytesOut"] as? Double)
        #expect(page.value("larder_job_errors_total{domain=\"SDWebImageErrorDomain\",code=\"2001\"}") == 1)
        // The others are copies of the same bytes.
        let transcoded = try #require(page.value("larder_stage_duration_seconds_count{stage=\"transcode\"}"))
        #expect((1...20).contains(transcoded))
        #expect(page.value("larder_stage_duration_seconds_count{stage=\"transcoder_wait\"}") == transcoded)
        let transcoders = try #require(page.value("larder_transcoders_cpu_seconds_total"))
        let codecs = try #require(page.value("larder_codecs_cpu_seconds_total"))
        #expect(codecs > 0, "\(codecs) of \(transcoders) s")
        #expect(codecs < transcoders, "\(codecs) of \(transcoders) s")
        #expect(page.value("larder_workers") == 1)
        #expect(page.value("larder_database_up") == 1)

        let check = try await RunningCommand(
            "/usr/bin/promtool", ["check", "metrics"], environment: [:], input: Array(page.text.utf8)
        ).outcome()
        #expect(check.code == 0, "\(check.text)\(check.errorText)")
        #expect(check.text.isEmpty, "\(check.text)\(check.errorText)")
        #expect(check.errorText.isEmpty, "\(check.text)\(check.errorText)")

        // The page that docs/metrics.md describes. Some families appear with what they count.
        _ = try await scene.sql("SELECT larder.queue_set('other')")
        #expect(try await scene.larder("enqueue", "--queue", "other", urls[0]).code == 0)
        // Of another origin: jobs of a held origin are soon no longer ready.
        #expect(try await scene.larder("pause", "--origin", "http://held.example/").code == 0)
        let documented = try Document("docs/metrics.md").text
        // The families of the last runs are only in the file that `larder status --metrics` writes.
        let named = Set(documented.matches(of: /\| `((?:larder|process)_\w+)`/).map { String($0.1) })
            .filter { !$0.hasPrefix("larder_batch_last_run_") }
        func shown() async throws -> Set<String> {
            Set(try await ListeningWorker.get(port, "/metrics").text.matches(of: /# TYPE (\w+)/).map { String($0.1) })
        }
        #expect(try await reached { try await named.isSubset(of: shown()) })
        #expect(try await shown().symmetricDifference(named) == [], "docs/metrics.md has what is served")
        let rows = documented.matches(of: /(?m)^\| `(\w+)` \| (\w+) \|.*\| ([^|]*) \|$/)
        let helps = Dictionary(uniqueKeysWithValues: rows.map { (String($0.1), "\($0.2): \($0.3)") })
        let served = try await ListeningWorker.get(port, "/metrics").text
        for match in served.matches(of: /# HELP (\w+) (.*)\n# TYPE \w+ (\w+)/) {
            #expect(helps[String(match.1)] == "\(match.3): \(match.2)")
        }
        worker.signal(SIGTERM)
        #expect(await worker.outcome().code == 1)
    }

    @Test func `a page for OpenMetrics has the trace of slow stages`() async throws {
        let scene = try await Scene()
        let collector = try OriginServer(["/v1/traces": .body(Array("{}".utf8))])
        var command = scene.larder(["work", "--listen", "127.0.0.1:0"])
        command.environment["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"] = collector.url("/v1/traces")
        let worker = try command.start()
        let port = try await ListeningWorker.port(of: worker)
        let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
        let url = try scene.serve("plain.jpg", at: "/a.jpg")
        let enqueued = try await scene.larder("enqueue", "--traceparent", "00-\(trace)-00f067aa0ba902b7-01", url)
        #expect(enqueued.code == 0)
        let accept = ["-H", "Accept: application/openmetrics-text; version=1.0.0"]
        func page() async throws -> String { try await ListeningWorker.get(port, "/metrics", accept).text }
        #expect(try await reached { try await page().contains("stage=\"fetch\",le=\"60.0\"} 1\n") })
        let text = try await page()
        let exemplar = try Regex("stage=\"fetch\",le=\"[0-9.]+\"\\} 1 # \\{trace_id=\"\(trace)\",span_id=\"")
        #expect(text.contains(exemplar), "\(text)")
        if PythonCollector.isInstalled { try await PythonCollector.check(["openmetrics"], Array(text.utf8)) }
        worker.signal(SIGTERM)
        #expect(await worker.outcome().code == 0)
    }

    @Test func `readiness ends with the database and with a stop, and liveness does not`() async throws {
        let scene = try await Scene()
        let (worker, port) = try await Self.listening(scene)
        #expect(try await reached { try await ListeningWorker.get(port, "/readyz").status == 200 })
        #expect(try await ListeningWorker.get(port, "/livez").status == 200)
        #expect(try await ListeningWorker.get(port, "/nothing").status == 404)
        #expect(try await ListeningWorker.get(port, "/metrics", ["-X", "POST", "-d", "x"]).status == 405)
        _ = try await scene.sql("ALTER FUNCTION larder.gauges_v1 RENAME TO gauges_v0")
        #expect(try await reached { try await ListeningWorker.get(port, "/readyz").status == 503 })
        let reasons = try await ListeningWorker.get(port, "/readyz").text
        #expect(reasons.contains("\"ready\":false"), "\(reasons)")
        #expect(reasons.contains("\"schema too old: "), "\(reasons)")
        #expect(try await ListeningWorker.get(port, "/livez").status == 200)
        worker.signal(SIGTERM)
        #expect(await worker.outcome().code == 0)
    }

    @Test func `an address that cannot be listened on is named`() async throws {
        let scene = try await Scene()
        let wrong = try await scene.larder("work", "--listen", "nowhere")
        #expect(wrong.code == 2)
        #expect(wrong.errorText.contains("'nowhere' is not HOST:PORT"))
        let taken = try await scene.larder("work", "--drain", "--listen", "127.0.0.1:\(scene.origin.port)")
        #expect(taken.code == 1)
        #expect(taken.errorText.contains("cannot listen on 127.0.0.1:\(scene.origin.port): Address already in use"))
    }

    @Test func `the alert rules fire as their tests say, and use metrics that exist`() async throws {
        let directory = PackageRoot.path + "/deploy/prometheus"
        for arguments in [["check", "rules", "alerts.yaml"], ["test", "rules", "alerts-test.yaml"]] {
            let files = arguments.dropLast() + ["\(directory)/\(arguments.last ?? "")"]
            try await SystemTool.run(["promtool"] + files)
        }
        let rules = try String(contentsOfFile: directory + "/alerts.yaml", encoding: .utf8)
        let documented = try Document("docs/metrics.md").text
        for match in rules.matches(of: /\b(larder_[a-z_]+)/) {
            #expect(documented.contains("| `\(match.1)`"), "\(match.1)")
        }
    }

    @Test func `each panel of the Grafana dashboard has queries that promtool reads, of metrics that exist`()
        async throws
    {
        let text = try String(
            contentsOfFile: PackageRoot.path + "/deploy/prometheus/grafana-dashboard.json", encoding: .utf8)
        let dashboard = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        let panels = try #require(dashboard["panels"] as? [[String: Any]]).filter { $0["type"] as? String != "row" }
        let documented = try Document("docs/metrics.md").text
        var rules: [[String: Any]] = []
        for panel in panels {
            let targets = try #require(panel["targets"] as? [[String: Any]])
            #expect(!targets.isEmpty)
            for target in targets {
                let query = try #require(target["expr"] as? String)
                for match in query.matches(of: /\b(larder_[a-z_]+|process_[a-z_]+)/) {
                    let family = String(match.1).replacing(/_bucket$/, with: "")
                    #expect(documented.contains("| `\(family)`"), "\(family)")
                }
                let expression = query.replacing("$__rate_interval", with: "1m").replacing("$job", with: ".*")
                rules.append(["record": "panel:\(rules.count)", "expr": expression])
            }
        }
        #expect(rules.count >= panels.count)
        let group: [String: Any] = ["groups": [["name": "panels", "rules": rules]]]
        let file = FileManager.default.temporaryDirectory.appending(path: "panels-\(UUID().uuidString).yaml")
        defer { try? FileManager.default.removeItem(at: file) }
        try JSONSerialization.data(withJSONObject: group, options: .withoutEscapingSlashes).write(to: file)
        try await SystemTool.run(["promtool", "check", "rules", file.path])
    }
}
