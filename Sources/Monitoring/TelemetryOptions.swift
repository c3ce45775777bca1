package import CommandLine
import Downloader
import Glibc
import Telemetry
package import Terminal

/// Export settings: one option, and OpenTelemetry's variables.
package enum TelemetryOptions {
    package static let option = Option(
        "otlp-endpoint", .value("URL"),
        "send traces and metrics to the OpenTelemetry collector at URL, such as http://127.0.0.1:4318; docs/running.md")

    /// A worker's tracer; without an endpoint it sends nothing.
    ///
    /// - Throws: wrong usage for an unusable endpoint. Other invalid values are noted and ignored, as OpenTelemetry
    ///   demands.
    package static func tracer(_ arguments: Arguments) throws(CommandError) -> JobTracer {
        let variables = TelemetryVariables(arguments.environment)
        let resource = TelemetryResource(
            version: Larder.version, instance: "\(Machine.host):\(getpid())", host: Machine.host,
            list: variables.text("OTEL_RESOURCE_ATTRIBUTES"), service: variables.text("OTEL_SERVICE_NAME"))
        let spans = try client(for: .traces, arguments, variables)
        let metrics = try client(for: .metrics, arguments, variables)
        guard spans != nil || metrics != nil else { return JobTracer(spans: nil, metrics: nil, sampler: Sampler()) }
        var settings = SpanExporter.Settings()
        settings.delay = variables.duration(of: variables.text("OTEL_BSP_SCHEDULE_DELAY")) ?? settings.delay
        settings.limits.spans = variables.count("OTEL_BSP_MAX_QUEUE_SIZE") ?? settings.limits.spans
        settings.limits.batchSpans = variables.count("OTEL_BSP_MAX_EXPORT_BATCH_SIZE") ?? settings.limits.batchSpans
        let interval = variables.duration(of: variables.text("OTEL_METRIC_EXPORT_INTERVAL")) ?? .seconds(60)
        for note in variables.notes { Console.note("larder: \(PrintableText.text(note))") }
        return JobTracer(
            spans: spans.map { SpanExporter($0, of: resource, settings: settings) },
            metrics: metrics.map { MetricsExporter($0, of: resource, interval: interval) },
            sampler: variables.sampler)
    }

    /// The client for a signal; nil when it is not exported.
    private static func client(
        for signal: TelemetryVariables.Signal, _ arguments: Arguments, _ variables: TelemetryVariables
    ) throws(CommandError) -> OTLPClient? {
        let given = try arguments.value(option.name)
        guard let url = variables.url(of: signal, at: given) else { return nil }
        if variables.exporter("PROTOCOL", of: signal) == "grpc" {
            Console.note("larder: OTEL_EXPORTER_OTLP_PROTOCOL: grpc is not supported, so no \(signal) are exported")
            return nil
        }
        var settings = OTLPClient.Settings()
        settings.headers = variables.headers(of: signal)
        settings.authorities = variables.exporter("CERTIFICATE", of: signal)
        settings.timeout =
            variables.duration(of: variables.exporter("TIMEOUT", of: signal)) ?? settings.timeout
        do throws(FetchError) {
            return try OTLPClient(url, settings)
        } catch {
            throw .usage("\(arguments.label(option.name)): \(error.message)")
        }
    }
}
