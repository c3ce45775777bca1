package import CommandLine
import Downloader
import Glibc
import Telemetry
package import Terminal

/// Export settings: one option, and OpenTelemetry's variables.
package enum TelemetryOptions {
    package static let option = Option(
        "otlp-endpoint", .value("URL"),
        "send traces to the OpenTelemetry collector at URL, such as http://127.0.0.1:4318; docs/running.md")

    /// A worker's tracer; without an endpoint it sends nothing.
    ///
    /// - Throws: wrong usage for an unusable endpoint. Other invalid values are noted and ignored, as OpenTelemetry
    ///   demands.
    package static func tracer(_ arguments: Arguments) throws(CommandError) -> JobTracer {
        let variables = TelemetryVariables(arguments.environment)
        let none = JobTracer(exporter: nil, sampler: Sampler())
        guard let url = try endpoint(arguments, variables) else { return none }
        if variables.exporter("PROTOCOL") == "grpc" {
            Console.note("larder: OTEL_EXPORTER_OTLP_PROTOCOL: grpc is not supported, so nothing is exported")
            return none
        }
        let resource = TelemetryResource(
            version: Larder.version, instance: "\(Machine.host):\(getpid())", host: Machine.host,
            list: variables.text("OTEL_RESOURCE_ATTRIBUTES"), service: variables.text("OTEL_SERVICE_NAME"))
        var client = OTLPClient.Settings()
        client.headers = variables.headers
        client.authorities = variables.exporter("CERTIFICATE")
        client.timeout = variables.duration(of: variables.exporter("TIMEOUT")) ?? client.timeout
        var settings = SpanExporter.Settings()
        settings.delay = variables.duration(of: variables.text("OTEL_BSP_SCHEDULE_DELAY")) ?? settings.delay
        settings.limits.spans = variables.count("OTEL_BSP_MAX_QUEUE_SIZE") ?? settings.limits.spans
        settings.limits.batchSpans = variables.count("OTEL_BSP_MAX_EXPORT_BATCH_SIZE") ?? settings.limits.batchSpans
        let sampler = variables.sampler
        for note in variables.notes { Console.note("larder: \(PrintableText.text(note))") }
        do throws(FetchError) {
            let exporter = SpanExporter(try OTLPClient(url, client), of: resource, settings: settings)
            return JobTracer(exporter: exporter, sampler: sampler)
        } catch {
            throw .usage("\(arguments.label(option.name)): \(error.message)")
        }
    }

    /// The URL for spans; nil to send none.
    private static func endpoint(
        _ arguments: Arguments, _ variables: TelemetryVariables
    ) throws(CommandError) -> String? {
        let given = try arguments.value(option.name)
        guard variables.text("OTEL_SDK_DISABLED")?.lowercased() != "true",
            variables.text("OTEL_TRACES_EXPORTER") != "none"
        else { return nil }
        if given == nil, let url = variables.text("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") { return url }
        guard let base = given ?? variables.text("OTEL_EXPORTER_OTLP_ENDPOINT") else { return nil }
        return base + (base.hasSuffix("/") ? "" : "/") + "v1/traces"
    }
}
