package import HTTPServer
import ImageModel
import Terminal

/// Who may use the dashboard, and for what. Decided from the request alone.
///
/// There are no cookies: a token is sent in a header, which no other site can make a browser do. A user name set by a
/// proxy may rest on cookies, so changes also need a content type that another site can send only after a preflight
/// request, which is refused, and an `Origin` that is the host itself.
package struct DashboardAccess: Sendable {
    /// Required of each request; nil for none.
    package var token: String?
    /// The header, in lower case, in which a proxy names its user; required of each request. Nil for none.
    package var userHeader: String?
    /// Whether requests may change anything.
    package var allowsChanges = false
    /// Whether only this machine can connect. Then the host that a request names must be this machine, because a name
    /// that another site's DNS points to it passes the browser's checks.
    package var isLoopback = true

    package init(
        token: String? = nil, userHeader: String? = nil, allowsChanges: Bool = false, isLoopback: Bool = true
    ) {
        self.token = token
        self.userHeader = userHeader
        self.allowsChanges = allowsChanges
        self.isLoopback = isLoopback
    }

    /// Why a request is refused: the HTTP status and what is wrong.
    package struct Refusal: Error, Equatable {
        let status: UInt32
        let message: String
    }

    /// The user that the request is recorded with; nil when no proxy names one.
    ///
    /// - Throws: `Refusal` 401, 403 or 415.
    package func user(of request: HTTPRequest) throws(Refusal) -> String? {
        let host = request.headers["host"] ?? ""
        if token == nil && userHeader == nil && isLoopback && !Self.isLocal(host) {
            throw Refusal(status: 403, message: "the host '\(PrintableText.text(host))' is not this machine")
        }
        if let token {
            // The scheme's name has no case (RFC 9110, section 11.1).
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

    /// Whether the request is not refused.
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

    /// Compares digests, so that the time says nothing about the first differing character.
    private static func isEqual(_ one: String, _ other: String) -> Bool {
        func digest(_ text: String) -> [UInt8] {
            var digest = SHA256Digest()
            Array(text.utf8).withUnsafeBytes { digest.update($0) }
            return digest.finish()
        }
        return digest(one) == digest(other)
    }
}
