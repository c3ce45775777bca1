import Downloader
import Telemetry
import Terminal

/// OpenTelemetry's environment variables. Invalid values are noted and ignored.
struct TelemetryVariables {
    /// What is exported, with the name that it has in URLs.
    enum Signal: String, CaseIterable {
        case traces, metrics
    }

    private let environment: [String: String]

    init(_ environment: [String: String]) { self.environment = environment }

    /// Nil if unset or empty.
    func text(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }

    /// An exporter setting: the signal's variable, else the one for all signals.
    func exporter(_ name: String, of signal: Signal) -> String? {
        text("OTEL_EXPORTER_OTLP_\(signal.rawValue.uppercased())_\(name)") ?? text("OTEL_EXPORTER_OTLP_\(name)")
    }

    /// Where a signal is sent to; nil when it is not exported.
    ///
    /// - Parameter base: the endpoint of all signals, in place of the variables'.
    func url(of signal: Signal, at base: String?) -> String? {
        guard text("OTEL_SDK_DISABLED")?.lowercased() != "true", exporters(of: signal).contains("otlp") else {
            return nil
        }
        if base == nil, let url = text("OTEL_EXPORTER_OTLP_\(signal.rawValue.uppercased())_ENDPOINT") { return url }
        guard let base = base ?? text("OTEL_EXPORTER_OTLP_ENDPOINT") else { return nil }
        return "\(base)\(base.hasSuffix("/") ? "" : "/")v1/\(signal)"
    }

    private func exporters(of signal: Signal) -> [String] {
        (text("OTEL_\(signal.rawValue.uppercased())_EXPORTER") ?? "otlp").split(separator: ",").map {
            String($0).trimmed(of: \.isWhitespace)
        }
    }

    /// Milliseconds, at least 1.
    func duration(of text: String?) -> Duration? {
        text.flatMap { Int64($0) }.flatMap { $0 > 0 ? .milliseconds($0) : nil }
    }

    /// From 1 to a million.
    func count(_ name: String) -> Int? { text(name).flatMap { Int($0) }.flatMap { 1...1_000_000 ~= $0 ? $0 : nil } }

    /// Request headers: `NAME=VALUE` separated by commas, values percent-encoded. Omits malformed ones.
    func headers(of signal: Signal) -> [HeaderField] {
        (exporter("HEADERS", of: signal) ?? "").split(separator: ",").compactMap { part in
            let pair = part.split(separator: "=", maxSplits: 1).map { String($0).trimmed(of: \.isWhitespace) }
            guard pair.count == 2, let value = TelemetryResource.decoded(pair[1]) else { return nil }
            let header = HeaderField(pair[0], value)
            return header.isSendable ? header : nil
        }
    }

    /// The sampler in `OTEL_TRACES_SAMPLER`; by default, and for an invalid value, the parent's decision, else every
    /// trace.
    var sampler: Sampler { namedSampler ?? Sampler() }

    private var namedSampler: Sampler? {
        text("OTEL_TRACES_SAMPLER").flatMap { Sampler(name: $0, argument: text("OTEL_TRACES_SAMPLER_ARG")) }
    }

    /// Warnings about the variables, one line each.
    var notes: [String] {
        var notes: [String] = []
        if let name = text("OTEL_TRACES_SAMPLER"), namedSampler == nil {
            notes.append("OTEL_TRACES_SAMPLER: '\(name)' with its argument is not known and is ignored")
        }
        for name in ["OTEL_BSP_MAX_QUEUE_SIZE", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE"]
        where text(name) != nil && count(name) == nil {
            notes.append("\(name): '\(text(name) ?? "")' is not a number from 1 to 1000000 and is ignored")
        }
        for signal in Signal.allCases {
            for name in exporters(of: signal) where !["otlp", "none"].contains(name) {
                notes.append("OTEL_\(signal.rawValue.uppercased())_EXPORTER: '\(name)' is not known and is ignored")
            }
        }
        for name in ["OTEL_BSP_SCHEDULE_DELAY", "OTEL_METRIC_EXPORT_INTERVAL", "OTEL_EXPORTER_OTLP_TIMEOUT"]
        where text(name) != nil && duration(of: text(name)) == nil {
            notes.append("\(name): '\(text(name) ?? "")' is not a number of milliseconds and is ignored")
        }
        return notes
    }
}
