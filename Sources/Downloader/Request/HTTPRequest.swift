/// The next HTTP request of a download, and how a redirect changes it.
struct HTTPRequest: Sendable {
    let fetch: FetchRequest
    let limits: FetchLimits
    let policy: AddressPolicy
    let proxy: FetchProxy?
    let allowsInvalidCertificates: Bool
    private let profile: CredentialProfile?
    private(set) var url: SourceURL
    private(set) var method: String
    private(set) var body: [UInt8]?
    /// The request's headers, without a profile's.
    private(set) var headers: [HeaderField]
    /// Validators of the stored copy, only for the URL that issued them.
    private(set) var validatorHeaders: [HeaderField]
    private(set) var redirects = 0
    /// Cookies of earlier responses in libcurl's notation; nil if cookies are neither kept nor sent.
    private(set) var cookies: [String]?
    /// The checked addresses, the only ones passed to libcurl; behind a proxy, the proxy's.
    var addresses: [IPAddress] = []
    var timeLeft: Duration

    /// The first request of a download.
    ///
    /// - Throws: `invalidURL`, `unsupportedScheme`; `invalidOperation` for an invalid method or header; `localFault`
    ///   for an unknown credential profile.
    init(
        _ fetch: FetchRequest, _ configuration: FetchConfiguration, _ profiles: [String: CredentialProfile]? = nil
    ) throws(FetchError) {
        self.fetch = fetch
        limits = fetch.limits ?? configuration.limits
        policy = fetch.policy ?? configuration.policy
        proxy = configuration.proxy
        allowsInvalidCertificates = fetch.allowsInvalidCertificates && configuration.allowsInvalidCertificates
        url = try SourceURL(fetch.url)
        method = fetch.method.uppercased()
        body = fetch.body
        headers = fetch.headers
        validatorHeaders = fetch.validators.flatMap { $0.issuer == nil ? $0.headers : nil } ?? []
        cookies = fetch.handlesCookies ? [] : nil
        profile = fetch.credentials.flatMap { (profiles ?? configuration.credentials)[$0] }
        timeLeft = limits.total
        guard (1...32).contains(method.utf8.count), method.utf8.allSatisfy({ (0x41...0x5a).contains($0) }) else {
            throw refusal("the method is not a word of ASCII letters")
        }
        guard method != "CONNECT" && (method != "HEAD" || fetch.isServiceCall) else {
            throw refusal("the method \(method) returns no image")
        }
        if let bad = headers.first(where: { !$0.isSendable }) {
            throw refusal("the header '\(PercentEscape.printable(bad.name.utf8, limit: 64))' cannot be sent")
        }
        if let name = profileName, profile == nil {
            throw FetchError(
                .localFault, "\(url): this machine has no credential profile '\(name)'", profile: name)
        }
    }

    /// Becomes the request for a redirect.
    ///
    /// - Throws: `tooManyRedirects`, `invalidURL`, `unsupportedScheme`, `downgradeRefused`; `badStatus` for a redirect
    ///   that would send the body to another origin.
    mutating func follow(_ status: Int, to location: [UInt8], cookies newCookies: [String]) throws(FetchError) {
        guard redirects < limits.redirects else {
            throw FetchError(.tooManyRedirects, "\(url): more redirects than the limit of \(limits.redirects)")
        }
        let next = try url.resolving(location)
        if url.origin.scheme == .https && next.origin.scheme == .http {
            throw FetchError(.downgradeRefused, "\(url): a redirect from https to http is refused: \(next)")
        }
        // RFC 9110, section 15.4: 303 changes to GET, as do 301 and 302 after a POST.
        if status == 303 || (status < 303 && method == "POST") {
            method = "GET"
            body = nil
        }
        if next.origin != url.origin {
            if body != nil {
                throw FetchError(
                    .badStatus, "\(url): a redirect of a request body to another origin is refused: \(next)",
                    httpStatus: status)
            }
            headers.removeAll { !$0.isKeptAcrossOrigins }
        }
        headers.removeAll { $0.isValidator }
        validatorHeaders = fetch.validators.flatMap { $0.issuer == next.digest ? $0.headers : nil } ?? []
        url = next
        redirects += 1
        if cookies != nil { cookies = newCookies }
    }

    private func refusal(_ message: String) -> FetchError { FetchError(.invalidOperation, "\(url): \(message)") }

    /// The profile, if it covers the URL's origin.
    var credentials: CredentialProfile? { profile.flatMap { $0.covers(url.origin) ? $0 : nil } }

    /// The profile's name as shown in errors.
    var profileName: String? { fetch.credentials.map { PercentEscape.printable($0.utf8, limit: 64) } }

    /// Whether 304 confirms a stored copy.
    var isConditional: Bool { !validatorHeaders.isEmpty }

    /// Whether this request's response also answers `other`: everything sent and every limit must be equal. The first
    /// request sets priority and times.
    func canServe(_ other: HTTPRequest) -> Bool {
        fetch.mayShare && other.fetch.mayShare && method == "GET" && other.method == "GET" && body == nil
            && other.body == nil && url.requestText == other.url.requestText && headers == other.headers
            && limits == other.limits && policy == other.policy && cookies == other.cookies
            && credentials == other.credentials && allowsInvalidCertificates == other.allowsInvalidCertificates
            && validatorHeaders == other.validatorHeaders && proxy == other.proxy
            && fetch.rules.agrees(with: other.fetch.rules)
    }

    /// Whether the handle can be reused: it keeps user, password, cookies and method.
    var leavesHandleClean: Bool {
        !url.hasUserinfo && credentials == nil && cookies == nil && method == "GET" && body == nil
            && !allowsInvalidCertificates && fetch.upload == nil
    }

    /// Whether a range request may continue a broken response.
    var mayResume: Bool { method == "GET" && body == nil && fetch.upload == nil && headers["Range"] == nil }

    /// The range of an unrequested partial response; nil for other responses.
    func unrequestedRange(_ head: ResponseHead) -> String? {
        guard head.status == 206, headers["Range"] == nil, credentials?.headers["Range"] == nil else { return nil }
        guard let text = head.headers["Content-Range"] else { return nil }
        if let range = ContentRange(text), range.first == 0, range.last + 1 == range.total { return nil }
        return "Content-Range \(text)"
    }

    /// All headers to send, each name once: the profile's, the request's, then the downloader's.
    var sentHeaders: [HeaderField] {
        var sent = credentials?.headers ?? []
        for header in headers + validatorHeaders where !sent.contains(where: { $0.isNamed(header.name) }) {
            sent.append(header)
        }
        if sent["Accept"] == nil { sent.append(HeaderField("Accept", "image/*,*/*;q=0.8")) }
        return sent
    }
}

/// Percent-encodes untrusted bytes for logs, tables and pages.
enum PercentEscape {
    /// `%` and two upper-case hexadecimal digits.
    static func escape(_ byte: UInt8) -> [UInt8] {
        let digits = Array("0123456789ABCDEF".utf8)
        return [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
    }

    /// Printable ASCII unchanged, other bytes percent-encoded, at most `limit` bytes.
    static func printable(_ bytes: some Collection<UInt8>, limit: Int) -> String {
        if bytes.count <= limit && bytes.allSatisfy({ (0x20..<0x7f).contains($0) }) {
            return String(decoding: bytes, as: UTF8.self)
        }
        var text: [UInt8] = []
        for byte in bytes {
            let next = (0x20..<0x7f).contains(byte) ? [byte] : escape(byte)
            if text.count + next.count > limit { break }
            text.append(contentsOf: next)
        }
        return String(decoding: text, as: UTF8.self)
    }
}
