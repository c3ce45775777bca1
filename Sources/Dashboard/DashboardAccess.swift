package import HTTPServer
import ImageModel
import Terminal

/// Authorizes requests to the dashboard, from the request alone.
///
/// There are no cookies: a token is sent in a header, which no other site can make a browser do. A proxy's user name
/// may be based on cookies, so changes also need a content type that another site can only send after a preflight
/// request, which is refused, and an `Origin` equal to the host.
package struct DashboardAccess: Sendable {
    /// Required in each request; nil for none.
    package var token: String?
    /// The lower-case header in which a proxy names its user; required in each request. Nil for none.
    package var userHeader: String?
    /// Whether requests may change anything.
    package var allowsChanges = false
    /// Whether only this machine can connect. The request's host must then be this machine: a name that another site's
    /// DNS points here passes the browser's checks.
    package var isLoopback = true

    package init(
        token: String? = nil, userHeader: String? = nil, allowsChanges: Bool = false, isLoopback: Bool = true
    ) {
        self.token = token
        self.userHeader = userHeader
        self.allowsChanges = allowsChanges
        self.isLoopback = isLoopback
    }

    /// A refused request: the HTTP status and the reason.
    package struct Refusal: Error, Equatable {
        let status: UInt32
        let message: String
    }

    /// The user recorded with the request; nil if no proxy names one.
    ///
    /// - Throws: `Refusal` 401, 403 or 415.
    package func user(of request: HTTPRequest) throws(Refusal) -> String? {
        let host = request.headers["host"] ?? ""
        if token == nil && userHeader == nil && isLoopback && !Self.isLocal(host) {
            throw Refusal(status: 403, message: "the host '\(PrintableText.text(host))' is not this machine")
        }
        if let token {
            // The scheme's name is case-insensitive (RFC 9110, section 11.1).
            let given =
                request.headers["authorization"].map {
                    $0.prefix(7).lowercased() == "bearer " ? $0.dropFirst(7) : ""
                } ?? ""
            guard Self.isEqual(String(given), token) else {
                throw Refusal(status: 401, message: "a token is required: Authorization: Bearer TOKEN")
            }
        }
        let user = userHeader.flatMap { request.headers[$0] }
        if let userHeader, user?.isEmpty ?? true {
            throw Refusal(status: 401, message: "the proxy did not set the header \(userHeader)")
        }
        if !request.isReading { try checkChange(request, host) }
        return user
    }

    func permits(_ request: HTTPRequest) -> Bool {
        do throws(Refusal) {
            _ = try user(of: request)
            return true
        } catch { return false }
    }

    private func checkChange(_ request: HTTPRequest, _ host: String) throws(Refusal) {
        guard allowsChanges else {
            throw Refusal(status: 403, message: "this dashboard is read-only; --allow-changes permits changes")
        }
        guard request.headers["content-type"]?.hasPrefix("application/json") ?? false else {
            throw Refusal(status: 415, message: "a change needs Content-Type: application/json")
        }
        if let origin = request.headers["origin"], origin != "http://\(host)", origin != "https://\(host)" {
            throw Refusal(status: 403, message: "the request comes from another site")
        }
    }

    /// `localhost`, `127.…` or `[::1]`, with or without a port.
    private static func isLocal(_ host: String) -> Bool {
        let name = host.hasPrefix("[") ? host.prefix { $0 != "]" } + "]" : host.prefix { $0 != ":" }
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        let isAddress = parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
        return name == "localhost" || name == "[::1]" || isAddress
    }

    /// Compares digests, so that timing does not reveal the first differing character.
    private static func isEqual(_ one: String, _ other: String) -> Bool {
        func digest(_ text: String) -> [UInt8] {
            var digest = SHA256Digest()
            Array(text.utf8).withUnsafeBytes { digest.update($0) }
            return digest.finish()
        }
        return digest(one) == digest(other)
    }
}
