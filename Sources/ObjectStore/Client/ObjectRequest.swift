internal import Downloader
internal import ImageModel

/// An unsigned request to an object store.
struct ObjectRequest: Sendable {
    enum Body: Sendable {
        case none
        case bytes([UInt8])
        /// A part of a file and its SHA-256, 64 hexadecimal digits.
        case part(UploadedPart, sha256: String)
    }

    private static let emptyDigest = SHA256Digest.hex(of: [])

    var method: String
    /// Nil for the bucket.
    var key: String?
    var query: [(name: String, value: String)] = []
    var headers: [HeaderField] = []
    var body = Body.none
    /// Maximum response, in bytes.
    var longestResponse: Int64 = 16 << 20
    /// Whether the status is sent before the work is done, so that a successful response's body may report a failure.
    var mayFailLate = false
    /// If false, the request is not sent.
    var isPermitted: WritePermission = { true }

    /// The request to send. Nil if OpenSSL is out of memory.
    func signed(by key: AccessKey, for bucket: BucketAddress, at time: Int) -> FetchRequest? {
        let digest: String
        switch body {
        case .none: digest = Self.emptyDigest
        case .bytes(let bytes): digest = SHA256Digest.hex(of: bytes)
        case .part(_, let sha256): digest = sha256
        }
        let canonical = SignatureV4.Request(
            method: method, host: bucket.host, path: bucket.path(of: self.key), query: query, headers: headers,
            payload: digest)
        let signature = SignatureV4(key: key, region: bucket.region)
        guard let headers = signature.headers(for: canonical, at: time) else { return nil }
        let search = canonical.queryText
        var request = FetchRequest(
            "\(bucket.endpoint.scheme.rawValue)://\(canonical.host)\(canonical.path)"
                + (search.isEmpty ? "" : "?" + search))
        request.method = method
        request.headers = headers
        switch body {
        case .none: if method == "POST" || method == "PUT" { request.body = [] }
        case .bytes(let bytes): request.body = bytes
        case .part(let part, _): request.upload = part
        }
        return request
    }
}
