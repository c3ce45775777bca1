extension OTLP {
    /// The body of `POST /v1/metrics`: counters and histograms are cumulative, names and labels as in Prometheus' text.
    ///
    /// - Parameters:
    ///   - start: when counting began, since 1970.
    ///   - time: when the page was made, since 1970.
    package static func metrics(
        _ page: MetricsPage, of resource: TelemetryResource, from start: Duration, at time: Duration
    ) -> [UInt8] {
        let times = (start: start.unixNanoseconds, time: time.unixNanoseconds)
        return json(
            MetricsRequest(
                resourceMetrics: [
                    .init(
                        resource: OTLPResource(resource),
                        scopeMetrics: [
                            .init(scope: OTLPScope(resource), metrics: page.families.map { OTLPMetric($0, times) })
                        ])
                ]))
    }
}

private struct MetricsRequest: Encodable {
    struct Resource: Encodable {
        let resource: OTLPResource
        let scopeMetrics: [Scope]
    }

    struct Scope: Encodable {
        let scope: OTLPScope
        let metrics: [OTLPMetric]
    }

    let resourceMetrics: [Resource]
}

private struct OTLPMetric: Encodable {
    struct Points: Encodable {
        let dataPoints: [Point]
        /// 2 is cumulative.
        var aggregationTemporality: Int?
        var isMonotonic: Bool?
    }

    struct Point: Encodable {
        struct Exemplar: Encodable {
            let timeUnixNano: String
            let asDouble: Double
            let traceId: String
            let spanId: String
        }

        let attributes: [OTLPAttribute]
        let startTimeUnixNano: String?
        let timeUnixNano: String
        var asDouble: Double?
        var count: String?
        var sum: Double?
        var bucketCounts: [String]?
        var explicitBounds: [Double]?
        var exemplars: [Exemplar]?
    }

    let name: String
    let description: String
    /// A unit of UCUM; nil for a count.
    let unit: String?
    var sum: Points?
    var gauge: Points?
    var histogram: Points?

    init(_ family: MetricsPage.Family, _ times: (start: String, time: String)) {
        (name, description) = (family.name, family.help)
        unit = name.contains("_seconds") ? "s" : name.contains("_bytes") ? "By" : nil
        let points = family.samples.map { sample in
            var point = Point(
                attributes: sample.labels.map { OTLPAttribute($0.name, .text($0.value)) },
                startTimeUnixNano: family.kind == .gauge ? nil : times.start, timeUnixNano: times.time)
            switch sample.value {
            case .number(let value): point.asDouble = value.isFinite ? value : nil
            case .histogram(let histogram): point.add(histogram)
            }
            return point
        }
        switch family.kind {
        case .counter: sum = Points(dataPoints: points, aggregationTemporality: 2, isMonotonic: true)
        case .gauge: gauge = Points(dataPoints: points)
        case .histogram: histogram = Points(dataPoints: points, aggregationTemporality: 2)
        }
    }
}

extension OTLPMetric.Point {
    fileprivate mutating func add(_ histogram: Histogram) {
        count = "\(histogram.count)"
        sum = histogram.sum
        bucketCounts = histogram.counts.map { "\($0)" }
        explicitBounds = Histogram.bounds
        exemplars = histogram.exemplars.compactMap(\.self).map {
            Exemplar(
                timeUnixNano: $0.time.unixNanoseconds, asDouble: $0.seconds, traceId: $0.span.traceID,
                spanId: $0.span.spanID)
        }
    }
}
