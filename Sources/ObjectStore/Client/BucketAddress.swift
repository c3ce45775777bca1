internal import Downloader

/// A bucket, its objects' prefix, and its server.
package struct BucketAddress: Sendable, Hashable, CustomStringConvertible {
    package let bucket: String
    /// The prefix of all keys without leading and trailing slashes; empty for none.
    package let prefix: String
    let endpoint: Origin
    /// The region for signing requests.
    package let region: String
    /// Whether the bucket is the path's first component instead of part of the host.
    package let usesPathStyle: Bool
    private let scheme: String

    /// Whether a text is a bucket URL: `s3://…` or `gs://…`.
    package static func isBucket(_ text: String) -> Bool { text.hasPrefix("s3://") || text.hasPrefix("gs://") }

    /// Parses `s3://BUCKET/PREFIX` or `gs://BUCKET/PREFIX`.
    ///
    /// - Parameters:
    ///   - endpoint: the server's URL; by default `https://s3.REGION.amazonaws.com`, for `gs://`
    ///     `https://storage.googleapis.com`.
    ///   - region: `us-east-1` by default, for `gs://` `auto`.
    ///   - pathStyle: by default true for a given endpoint, for `gs://`, and for a name with a full stop.
    /// - Throws: `invalidAddress`.
    package init(
        _ url: String, endpoint: String? = nil, region: String? = nil, pathStyle: Bool? = nil
    ) throws(ObjectStoreError) {
        guard Self.isBucket(url) else {
            throw ObjectStoreError(.invalidAddress, "'\(url)' is not s3://BUCKET/PREFIX")
        }
        scheme = String(url.prefix(2))
        let parts = url.dropFirst(5).split(separator: "/", omittingEmptySubsequences: false)
        bucket = parts.first.map(String.init) ?? ""
        guard Self.isName(bucket) else {
            throw ObjectStoreError(.invalidAddress, "\(url): '\(bucket)' cannot be the name of a bucket")
        }
        prefix = parts.dropFirst().filter { !$0.isEmpty }.joined(separator: "/")
        guard prefix.utf8.count <= 700, !prefix.utf8.contains(where: { $0 < 0x20 || $0 == 0x7f }) else {
            throw ObjectStoreError(.invalidAddress, "\(url): the prefix is too long or has control characters")
        }
        let isGoogle = scheme == "gs"
        self.region = region ?? (isGoogle ? "auto" : "us-east-1")
        let server =
            endpoint ?? (isGoogle ? "https://storage.googleapis.com" : "https://s3.\(self.region).amazonaws.com")
        do throws(FetchError) {
            let parsed = try SourceURL(server)
            guard !parsed.hasUserinfo, !server.contains("?"), !server.contains("#"),
                parsed.description == "\(parsed.origin)/"
            else {
                throw FetchError(.invalidURL, "only scheme, host and port are expected")
            }
            self.endpoint = parsed.origin
        } catch {
            throw ObjectStoreError(.invalidAddress, "the endpoint '\(server)': \(error.message)")
        }
        usesPathStyle = pathStyle ?? (endpoint != nil || isGoogle || bucket.contains("."))
    }

    /// Whether an object is in this bucket below the prefix. False for a key with the segment `..`, which a file-based
    /// server may resolve.
    package func contains(_ object: ObjectURL) -> Bool {
        guard object.scheme == scheme, object.bucket == bucket else { return false }
        guard !prefix.isEmpty else { return true }
        return object.key.utf8.starts(with: (prefix + "/").utf8)
            && !object.key.utf8.split(separator: UInt8(ascii: "/")).contains { $0.elementsEqual("..".utf8) }
    }

    /// The Host header, with a port other than the scheme's default.
    var host: String {
        let server = endpoint.description.dropFirst(endpoint.scheme.rawValue.count + 3)
        return usesPathStyle ? String(server) : "\(bucket).\(server)"
    }

    /// The encoded path of an object, or of the bucket itself.
    func path(of key: String?) -> String {
        let object = key.map(URIEscape.path) ?? ""
        return usesPathStyle ? "/\(bucket)" + (key == nil ? "" : "/" + object) : "/" + object
    }

    /// An object's URL, for messages.
    func url(of key: String) -> String { "\(scheme)://\(bucket)/\(key)" }

    /// Unique among all addresses, including other servers'.
    package var identity: String { "\(endpoint) \(self)" }

    /// `s3://BUCKET/PREFIX`.
    package var description: String { "\(scheme)://\(bucket)" + (prefix.isEmpty ? "" : "/\(prefix)") }

    /// Letters, digits, hyphens, full stops and underscores, 3 to 255: the names that some server allows.
    private static func isName(_ text: String) -> Bool {
        (3...255).contains(text.utf8.count) && text != "..."
            && text.utf8.allSatisfy { byte in
                (0x30...0x39).contains(byte) || (0x61...0x7a).contains(byte | 0x20) || "-._".utf8.contains(byte)
            }
    }
}

/// An object's URL: `s3://BUCKET/KEY` or `gs://BUCKET/KEY`.
///
/// The key is everything after the slash, byte for byte: nothing is decoded, and `?` and `#` are part of it, as in
/// AWS's and Google's programs.
package struct ObjectURL: Sendable, Hashable, CustomStringConvertible {
    /// `s3` or `gs`.
    package let scheme: String
    package let bucket: String
    /// Not empty.
    package let key: String

    /// - Throws: `invalidAddress` for another scheme, and without bucket or key.
    package init(_ text: String) throws(ObjectStoreError) {
        guard BucketAddress.isBucket(text) else {
            throw ObjectStoreError(.invalidAddress, "'\(text)' is not s3://BUCKET/KEY")
        }
        scheme = String(text.prefix(2))
        let rest = text.utf8.dropFirst(5)
        let slash = rest.firstIndex(of: UInt8(ascii: "/")) ?? rest.endIndex
        bucket = String(rest[..<slash]) ?? ""
        key = String(rest[slash...].dropFirst()) ?? ""
        guard !bucket.isEmpty, !key.isEmpty else {
            throw ObjectStoreError(.invalidAddress, "\(text): the URL names no object; s3://BUCKET/KEY is expected")
        }
    }

    /// `s3://BUCKET`.
    package var bucketURL: String { "\(scheme)://\(bucket)" }

    /// `s3://BUCKET/KEY`.
    package var description: String { "\(bucketURL)/\(key)" }
}
