/// Where a download is on its way and what it takes along: the pure part of following redirects.
struct RedirectState {
    private(set) var url: SourceURL
    private(set) var method: String
    private(set) var body: [UInt8]?
    private(set) var headers: [HeaderField]
    /// Redirects followed so far.
    private(set) var redirects = 0

    /// The first hop.
    ///
    /// - Throws: `invalidOperation` for a method or a header that cannot be sent.
    init(_ request: FetchRequest) throws(FetchError) {
        url = request.url
        method = request.method.uppercased()
        body = request.body
        headers = request.headers
        guard (1...32).contains(method.utf8.count), method.utf8.allSatisfy({ (0x41...0x5a).contains($0) }) else {
            throw Self.refused(url, "the method is not a word of letters")
        }
        guard method != "CONNECT" && method != "HEAD" else {
            throw Self.refused(url, "the method \(method) brings no picture")
        }
        if let bad = headers.first(where: { !$0.isSendable }) {
            throw Self.refused(
                url, "the header '\(PercentEscape.printable(bad.name.utf8, limit: 64))' cannot be sent by a request")
        }
        headers += request.revalidation?.headers ?? []
    }

    /// The next hop.
    ///
    /// - Throws: `invalidURL`, `unsupportedScheme`, `downgradeRefused`; `badStatus` for a redirect that would carry the
    ///   request's body to another origin.
    mutating func follow(_ status: Int, to location: [UInt8]) throws(FetchError) {
        let next = try url.resolving(location)
        if url.origin.scheme == .https && next.origin.scheme == .http {
            throw FetchError(.downgradeRefused, "\(url): a redirect from https to http is refused: \(next)")
        }
        // RFC 9110, section 15.4: 303 asks for a GET, and so do 301 and 302 in answer to a POST.
        if status == 303 || (status < 303 && method == "POST") {
            method = "GET"
            body = nil
        }
        if next.origin != url.origin {
            if body != nil {
                throw FetchError(
                    .badStatus, "\(url): a redirect of a request's body to another origin is refused: \(next)",
                    httpStatus: status)
            }
            let conditions = ["if-none-match", "if-modified-since"]
            headers.removeAll { !$0.travels && !conditions.contains($0.name.lowercased()) }
        }
        url = next
        redirects += 1
    }

    private static func refused(_ url: SourceURL, _ message: String) -> FetchError {
        FetchError(.invalidOperation, "\(url): \(message)")
    }
}
