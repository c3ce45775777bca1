package import Downloader
private import Glibc
private import ImageModel

/// Signs requests by AWS Signature Version 4, in their header.
///
/// Source: "Authenticating Requests: Using the Authorization Header" in the S3 API reference; compared with botocore's
/// signer by `SignatureTests`. libcurl 7.88's signer is wrong for unsorted queries, names without value and several
/// characters, and signs no body digest.
package struct SignatureV4: Sendable {
    /// The digest signed for a body whose bytes are not signed.
    package static let unsignedPayload = "UNSIGNED-PAYLOAD"

    /// The signed part of a request.
    package struct Request: Sendable {
        /// `GET`, `PUT`, …
        package var method: String
        /// The Host header, with a port other than the scheme's default.
        package var host: String
        /// As sent, percent-encoded.
        package var path: String
        /// Unencoded, in any order.
        package var query: [(name: String, value: String)]
        /// All other signed headers.
        package var headers: [HeaderField]
        /// The body's SHA-256, 64 hexadecimal digits, or `unsignedPayload`.
        package var payload: String

        package init(
            method: String, host: String, path: String, query: [(name: String, value: String)] = [],
            headers: [HeaderField] = [], payload: String
        ) {
            self.method = method
            self.host = host
            self.path = path
            self.query = query
            self.headers = headers
            self.payload = payload
        }

        /// The query as signed and sent: encoded and sorted; a name without value has an equals sign.
        package var queryText: String {
            query.map { (URIEscape.query($0.name), URIEscape.query($0.value)) }
                .sorted { $0.0 != $1.0 ? $0.0.utf8.lexicographicallyPrecedes($1.0.utf8) : Self.precedes($0.1, $1.1) }
                .map { "\($0.0)=\($0.1)" }.joined(separator: "&")
        }

        private static func precedes(_ a: String, _ b: String) -> Bool { a.utf8.lexicographicallyPrecedes(b.utf8) }
    }

    private let key: AccessKey
    private let region: String
    private let service: String

    /// A signer for one region.
    ///
    /// - Parameter service: `s3` by default.
    package init(key: AccessKey, region: String, service: String = "s3") {
        self.key = key
        self.region = region
        self.service = service
    }

    /// The headers to send: the request's and the signature's. Nil if OpenSSL is out of memory.
    ///
    /// - Parameter time: seconds since 1970.
    package func headers(for request: Request, at time: Int) -> [HeaderField]? {
        let date = Self.date(time)
        var request = request
        request.headers.append(HeaderField("x-amz-date", date))
        request.headers.append(HeaderField("x-amz-content-sha256", request.payload))
        if let token = key.sessionToken { request.headers.append(HeaderField("x-amz-security-token", token)) }
        let signed = Self.canonicalHeaders(request)
        let names = signed.map(\.name).joined(separator: ";")
        let scope = "\(date.prefix(8))/\(region)/\(service)/aws4_request"
        let digest = SHA256Digest.hex(of: Self.canonicalText(request, signed, names).utf8)
        guard let signature = signature("AWS4-HMAC-SHA256\n\(date)\n\(scope)\n\(digest)", date) else { return nil }
        let authorization = "AWS4-HMAC-SHA256 Credential=\(key.id)/\(scope), SignedHeaders=\(names), Signature="
        return request.headers + [HeaderField("Authorization", authorization + signature)]
    }

    private static func canonicalText(_ request: Request, _ headers: [HeaderField], _ names: String) -> String {
        let lines = headers.map { "\($0.name):\($0.value)\n" }.joined()
        return "\(request.method)\n\(request.path)\n\(request.queryText)\n\(lines)\n\(names)\n\(request.payload)"
    }

    /// Sorted by lower-case name, values of one name joined by commas, white space reduced to single spaces.
    private static func canonicalHeaders(_ request: Request) -> [HeaderField] {
        let all = request.headers + [HeaderField("host", request.host)]
        return Dictionary(grouping: all) { $0.name.lowercased() }
            .map { name, fields in HeaderField(name, fields.map { words($0.value) }.joined(separator: ",")) }
            .sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    }

    private static func words(_ value: String) -> String {
        value.split { $0 == " " || $0 == "\t" }.joined(separator: " ")
    }

    private func signature(_ text: String, _ date: String) -> String? {
        var code = Array("AWS4\(key.secret)".utf8)
        for part in [String(date.prefix(8)), region, service, "aws4_request", text] {
            guard let next = HMACSHA256.code(of: Array(part.utf8), key: code) else { return nil }
            code = next
        }
        return SHA256Digest.hex(code)
    }

    /// `20261125T010203Z`.
    private static func date(_ time: Int) -> String {
        var seconds = time_t(time)
        var parts = tm()
        gmtime_r(&seconds, &parts)
        var text = [CChar](repeating: 0, count: 32)
        let count = strftime(&text, text.count, "%Y%m%dT%H%M%SZ", &parts)
        return String(decoding: text.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

/// Credentials with their validity.
package struct AccessKey: Sendable, Hashable {
    /// The public id, `AKIA…`.
    package var id: String
    /// Never sent.
    package var secret: String
    /// The token of temporary credentials; nil for permanent ones.
    package var sessionToken: String?
    /// In seconds since 1970; nil for never.
    package var expiration: Int?

    package init(id: String, secret: String, sessionToken: String? = nil, expiration: Int? = nil) {
        self.id = id
        self.secret = secret
        self.sessionToken = sessionToken
        self.expiration = expiration
    }
}

/// Signature Version 4's percent-encoding: all bytes except RFC 3986's unreserved ones, in upper case.
package enum URIEscape {
    package static func query(_ text: String) -> String { encode(text, keeping: []) }

    /// Keeps slashes.
    package static func path(_ text: String) -> String { encode(text, keeping: [UInt8(ascii: "/")]) }

    private static func encode(_ text: String, keeping kept: [UInt8]) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var encoded: [UInt8] = []
        for byte in text.utf8 {
            if isUnreserved(byte) || kept.contains(byte) {
                encoded.append(byte)
            } else {
                encoded += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: encoded, as: UTF8.self)
    }

    /// Decodes a listing's text, in which a plus sign is a space.
    package static func decoded(_ text: String) -> String {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            let digits = String(decoding: rest.prefix(2), as: UTF8.self)
            if byte == UInt8(ascii: "%"), let value = UInt8(digits, radix: 16) {
                bytes.append(value)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func isUnreserved(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x5a).contains(byte) || (0x61...0x7a).contains(byte)
            || "-._~".utf8.contains(byte)
    }
}
