private import FoundationEssentials

/// Request bodies in OTLP 1's JSON encoding: hexadecimal ids, large numbers as texts.
package enum OTLP {
    /// The body of `POST /v1/traces`.
    package static func traces(_ spans: [Span], of resource: TelemetryResource) -> [UInt8] {
        json(
            TracesRequest(
                resourceSpans: [
                    .init(
                        resource: OTLPResource(resource),
                        scopeSpans: [.init(scope: OTLPScope(resource), spans: spans.map(OTLPSpan.init))])
                ]))
    }

    /// Cannot fail without values that JSON lacks.
    static func json(_ request: some Encodable) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(request)).map(Array.init) ?? []
    }
}

private struct TracesRequest: Encodable {
    struct Resource: Encodable {
        let resource: OTLPResource
        let scopeSpans: [Scope]
    }

    struct Scope: Encodable {
        let scope: OTLPScope
        let spans: [OTLPSpan]
    }

    let resourceSpans: [Resource]
}

struct OTLPResource: Encodable {
    let attributes: [OTLPAttribute]

    init(_ resource: TelemetryResource) {
        attributes = resource.attributes.sorted { $0.key < $1.key }.map { OTLPAttribute($0.key, .text($0.value)) }
    }
}

struct OTLPScope: Encodable {
    let name = "larder"
    let version: String?

    init(_ resource: TelemetryResource) { version = resource.attributes["service.version"] }
}

struct OTLPAttribute: Encodable {
    struct Value: Encodable {
        var stringValue: String?
        var intValue: String?
        var doubleValue: Double?
        var boolValue: Bool?
    }

    let key: String
    let value: Value

    init(_ key: String, _ value: Span.Value) {
        self.key = key
        self.value =
            switch value {
            case .text(let text): Value(stringValue: text)
            case .integer(let number): Value(intValue: "\(number)")
            case .number(let number): Value(doubleValue: number.isFinite ? number : nil)
            case .flag(let flag): Value(boolValue: flag)
            }
    }
}

private struct OTLPSpan: Encodable {
    struct Link: Encodable {
        let traceId: String
        let spanId: String
        let flags: UInt32
    }

    struct Status: Encodable {
        /// 2 is an error.
        let code = 2
        let message: String
    }

    let traceId: String
    let spanId: String
    let parentSpanId: String?
    let flags: UInt32
    let name: String
    let kind: Int
    let startTimeUnixNano: String
    let endTimeUnixNano: String
    let attributes: [OTLPAttribute]
    let links: [Link]
    let status: Status?

    init(_ span: Span) {
        (traceId, spanId) = (span.context.traceID, span.context.spanID)
        parentSpanId = span.parent.map { TraceContext(trace: 1, span: $0, flags: 0).spanID }
        flags = UInt32(span.context.flags)
        (name, kind) = (span.name, span.kind.rawValue)
        (startTimeUnixNano, endTimeUnixNano) = (span.start.unixNanoseconds, span.end.unixNanoseconds)
        attributes = span.attributes.map { OTLPAttribute($0.name, $0.value) }
        links = span.links.map { Link(traceId: $0.traceID, spanId: $0.spanID, flags: UInt32($0.flags)) }
        status = span.error.map(Status.init)
    }
}

extension Duration {
    /// Whole nanoseconds as in OTLP; at least 0.
    var unixNanoseconds: String {
        "\(max(0, components.seconds) * 1_000_000_000 + components.attoseconds / 1_000_000_000)"
    }
}
