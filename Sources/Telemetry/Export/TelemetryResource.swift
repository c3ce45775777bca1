/// The program that sends spans and metrics: OpenTelemetry's resource attributes.
package struct TelemetryResource: Sendable, Equatable {
    package var attributes: [String: String]

    /// - Parameters:
    ///   - list: the value of `OTEL_RESOURCE_ATTRIBUTES`, `NAME=VALUE` separated by commas, values percent-encoded; nil
    ///     for none. A malformed list is ignored entirely, as OpenTelemetry demands.
    ///   - service: the value of `OTEL_SERVICE_NAME`, which takes precedence; nil uses the list's, else `larder`.
    package init(version: String, instance: String, host: String, list: String? = nil, service: String? = nil) {
        attributes = [
            "service.name": "larder", "service.version": version, "service.instance.id": instance, "host.name": host,
        ]
        attributes.merge(Self.attributes(list ?? "") ?? [:]) { $1 }
        if let service, !service.isEmpty { attributes["service.name"] = service }
    }

    /// Nil if malformed.
    private static func attributes(_ list: String) -> [String: String]? {
        var found: [String: String] = [:]
        for part in list.split(separator: ",") {
            let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard pair.count == 2, let value = decoded(trimmed(pair[1])) else { return nil }
            let name = trimmed(pair[0])
            guard !name.isEmpty else { return nil }
            found[name] = value
        }
        return found
    }

    private static func trimmed(_ text: Substring) -> String {
        let start = text.drop { $0 == " " || $0 == "\t" }
        return String(start.reversed().drop { $0 == " " || $0 == "\t" }.reversed())
    }

    /// Without percent escapes; nil for an invalid one.
    package static func decoded(_ text: String) -> String? {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard rest.count >= 2, let code = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) else {
                return nil
            }
            bytes.append(code)
            rest = rest.dropFirst(2)
        }
        return String(validating: bytes, as: UTF8.self)
    }
}
