/// How a pipeline derives cache keys from URLs that change while the image stays: signed URLs, and several hosts of one
/// CDN.
///
/// Changes only the cache key: job, download and blocklist use the URL as given. It is SDWebImage's `cacheKeyFilter` as
/// data.
package struct CacheKeyRule: Sendable, Hashable {
    package static let limit = 64

    /// Names of query parameters to omit, compared byte by byte as in the URL. A final `*` matches any rest: `X-Amz-*`;
    /// alone it omits the whole query.
    package let dropQuery: [String]
    /// Replaced hosts, compared without case. The port stays.
    package let mapHosts: [String: String]

    /// - Throws: `VariantError` with the path of an empty or malformed field.
    package init(_ value: JSONValue, path: String) throws(VariantError) {
        var fields = try JSONFields(value, path: path)
        dropQuery =
            try fields.take("dropQuery")?.list(
                path: "\(path).dropQuery", limit: Self.limit, of: "parameters", Self.parameter) ?? []
        mapHosts =
            try fields.take("mapHosts").map { value throws(VariantError) in
                try Self.hosts(value, path: "\(path).mapHosts")
            } ?? [:]
        try fields.finish()
        guard !dropQuery.isEmpty || !mapHosts.isEmpty else {
            throw VariantError(path: path, message: "must have dropQuery or mapHosts")
        }
    }

    /// Parses a rule's JSON.
    ///
    /// - Throws: `VariantError` with the JSON path.
    package init(json: some Sequence<UInt8>) throws(VariantError) {
        try self.init(try JSONValue.parse(Array(json)), path: "$")
    }

    package var json: JSONValue {
        let fields: [String: JSONValue?] = [
            "dropQuery": dropQuery.isEmpty ? nil : .array(dropQuery.map { .string($0) }),
            "mapHosts": mapHosts.isEmpty ? nil : .object(mapHosts.mapValues { .string($0) }),
        ]
        return .object(fields.compactMapValues(\.self))
    }

    /// A URL's cache key. All other bytes stay; a query without remaining parameters loses its question mark.
    package func key(of url: String) -> String {
        let bytes = Array(url.utf8)
        let fragment = bytes.firstIndex(of: UInt8(ascii: "#")) ?? bytes.endIndex
        let query = bytes[..<fragment].firstIndex(of: UInt8(ascii: "?")) ?? fragment
        var key = mappingHost(bytes[..<query])
        let kept = bytes[query..<fragment].dropFirst()
            .split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false).filter { !isDropped($0) }
        let isUnchanged = kept.count == bytes[query..<fragment].count { $0 == UInt8(ascii: "&") } + 1
        if isUnchanged {
            key += bytes[query..<fragment]
        } else if !kept.isEmpty {
            key += [UInt8(ascii: "?")] + kept.joined(separator: [UInt8(ascii: "&")])
        }
        return String(decoding: key + bytes[fragment...], as: UTF8.self)
    }

    private func isDropped(_ parameter: ArraySlice<UInt8>) -> Bool {
        let name = parameter.prefix { $0 != UInt8(ascii: "=") }
        return dropQuery.contains { pattern in
            pattern.hasSuffix("*") ? name.starts(with: pattern.utf8.dropLast()) : name.elementsEqual(pattern.utf8)
        }
    }

    /// The part of a URL before its query, with a replaced host.
    private func mappingHost(_ front: ArraySlice<UInt8>) -> [UInt8] {
        let slash = UInt8(ascii: "/")
        guard !mapHosts.isEmpty, let colon = front.firstIndex(of: UInt8(ascii: ":")),
            front[colon...].starts(with: "://".utf8)
        else { return Array(front) }
        let start = colon + 3
        let end = front[start...].firstIndex(of: slash) ?? front.endIndex
        let name = front[start..<end].lastIndex(of: UInt8(ascii: "@")).map { $0 + 1 } ?? start
        let isAddress = front[name..<end].first == UInt8(ascii: "[")
        let port =
            front[name..<end].lastIndex(of: UInt8(ascii: isAddress ? "]" : ":"))
            .map { isAddress ? $0 + 1 : $0 } ?? end
        guard let host = mapHosts[String(decoding: front[name..<port], as: UTF8.self).lowercased()] else {
            return Array(front)
        }
        return front[..<name] + Array(host.utf8) + front[port...]
    }

    private static func parameter(_ value: JSONValue, path: String) throws(VariantError) -> String {
        guard case .string(let name) = value, !name.isEmpty else {
            throw VariantError(path: path, message: "must be the name of a query parameter")
        }
        guard !name.utf8.contains(where: { "&=#".utf8.contains($0) }), !name.dropLast().contains("*") else {
            throw VariantError(path: path, message: "must have no &, = and #, and * only at the end")
        }
        return name
    }

    /// Replaced hosts by lower-case name.
    private static func hosts(_ value: JSONValue, path: String) throws(VariantError) -> [String: String] {
        guard case .object(let members) = value, members.count <= limit else {
            throw VariantError(path: path, message: "must be an object with at most \(limit) hosts")
        }
        var hosts: [String: String] = [:]
        for (from, to) in members.sorted(by: { $0.key < $1.key }) {
            guard case .string(let host) = to, isHost(host), isHost(from) else {
                throw VariantError(path: "\(path).\(from)", message: "must be two hosts, without scheme, port and path")
            }
            guard hosts.updateValue(host, forKey: from.lowercased()) == nil else {
                throw VariantError(path: "\(path).\(from)", message: "is given twice")
            }
        }
        return hosts
    }

    private static func isHost(_ text: String) -> Bool {
        let isAddress = text.hasPrefix("[") && text.hasSuffix("]")
        return !text.isEmpty && !text.utf8.contains { $0 <= 0x20 || "/?#@".utf8.contains($0) }
            && (isAddress || !text.contains(":"))
    }
}
