internal import Terminal

extension MetricsPage {
    /// The formats that Prometheus reads.
    package enum Format: Sendable {
        /// The text format, version 0.0.4.
        case prometheus
        /// OpenMetrics 1.0, which also has exemplars.
        case openMetrics

        /// The format that a request prefers by its header `Accept`, the first one unless OpenMetrics is asked for.
        package init(accept: String?) {
            let wanted = (accept ?? "").split(separator: ",").map { range in
                let parts = range.split(separator: ";").map { $0.filter { !$0.isWhitespace }.lowercased() }
                let weight = parts.dropFirst().first { $0.hasPrefix("q=") }.map { Double($0.dropFirst(2)) ?? 0 } ?? 1
                return (type: parts.first ?? "", weight: weight)
            }
            func weight(_ type: String) -> Double { wanted.first { $0.type == type }?.weight ?? 0 }
            let own = weight("application/openmetrics-text")
            self = own > 0 && own >= weight("text/plain") ? .openMetrics : .prometheus
        }

        /// The media type.
        package var type: String {
            switch self {
            case .prometheus: "text/plain; version=0.0.4; charset=utf-8"
            case .openMetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8"
            }
        }
    }

    package func text(_ format: Format = .prometheus) -> String {
        var text = ""
        for family in families {
            // OpenMetrics has `_total` at a counter's samples only.
            let isShort = format == .openMetrics && family.kind == .counter && family.name.hasSuffix("_total")
            let name = isShort ? String(family.name.dropLast("_total".count)) : family.name
            text += "# HELP \(name) \(family.help)\n# TYPE \(name) \(family.kind.rawValue)\n"
            for sample in family.samples {
                switch sample.value {
                case .number(let value): text += Self.line(family.name, sample.labels, Self.number(value))
                case .histogram(let histogram): text += Self.lines(family.name, sample.labels, histogram, format)
                }
            }
        }
        return format == .openMetrics ? text + "# EOF\n" : text
    }

    private static func lines(_ name: String, _ labels: Labels, _ histogram: Histogram, _ format: Format) -> String {
        var text = ""
        var total = 0
        for (range, count) in histogram.counts.enumerated() {
            total += count
            // OpenMetrics wants `1.0`, the older format has had `1`.
            let bound = range < Histogram.bounds.count ? Histogram.bounds[range] : .infinity
            let shown = bound.isInfinite ? "+Inf" : format == .openMetrics ? "\(bound)" : number(bound)
            var value = number(Double(total))
            if format == .openMetrics, let exemplar = histogram.exemplars[range] {
                let ids = [("trace_id", exemplar.span.traceID), ("span_id", exemplar.span.spanID)]
                value += " # \(braces(ids)) \(exemplar.seconds) \(exemplar.time / .seconds(1))"
            }
            text += line(name + "_bucket", labels + [("le", shown)], value)
        }
        return text + line(name + "_sum", labels, number(histogram.sum))
            + line(name + "_count", labels, number(Double(total)))
    }

    private static func line(_ name: String, _ labels: Labels, _ value: String) -> String {
        "\(name)\(labels.isEmpty ? "" : braces(labels)) \(value)\n"
    }

    private static func braces(_ labels: Labels) -> String {
        "{" + labels.map { "\($0.name)=\"\(escaped($0.value))\"" }.joined(separator: ",") + "}"
    }

    /// Escapes unprintable characters, since a terminal or page may show the text.
    private static func escaped(_ value: String) -> String {
        PrintableText.lines(value).replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
            .replacing("\n", with: "\\n")
    }

    /// Whole numbers without a fraction.
    private static func number(_ value: Double) -> String {
        value == value.rounded() && abs(value) < 1e15 ? "\(Int64(value))" : "\(value)"
    }
}
