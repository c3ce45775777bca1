internal import CCurl
private import Glibc
private import ImageModel

/// A checked http or https URL.
///
/// Its identity is its bytes as given; libcurl receives a normalised form. libcurl's parser parses it, so that the
/// checked host is the host connected to.
package struct SourceURL: Sendable, Hashable, CustomStringConvertible {
    /// The URL as given.
    package let bytes: [UInt8]
    package let origin: Origin
    /// The address if the host is one, in any notation.
    package let literal: IPAddress?
    /// The host for lookups, with a trailing dot if the URL has one, so that no search suffix is tried.
    package let lookupName: String
    package let hasUserinfo: Bool
    /// The URL without userinfo, query and fragment: for messages, logs and metrics.
    package let description: String
    /// The URL for libcurl.
    let requestText: String
    private static let maximumBytes = 32 << 10

    package static func == (a: SourceURL, b: SourceURL) -> Bool { a.bytes == b.bytes }

    package func hash(into hasher: inout Hasher) { hasher.combine(bytes) }

    /// Percent-encodes bytes beyond ASCII, spaces and quotes.
    ///
    /// - Throws: `invalidURL` for a malformed URL, control characters or more than 32 KiB; `unsupportedScheme` for
    ///   another scheme.
    package init(_ text: String) throws(FetchError) {
        let bytes = Array(text.utf8)
        try Self.checkText(bytes)
        let authority = try Self.authority(bytes)
        let text = Self.encoded(bytes, from: authority.upperBound)
        let parsed = try Self.parsed(text)
        guard let host = Self.host(parsed) else { throw Self.invalid("the URL's host is malformed") }
        guard let url = CurlURL(), url.set(CURLUPART_URL, parsed, CURLU_PATH_AS_IS),
            let scheme = url.get(CURLUPART_SCHEME).flatMap({ Scheme(rawValue: $0) }),
            let port = url.get(CURLUPART_PORT, CURLU_DEFAULT_PORT).flatMap({ UInt16($0) }), port > 0,
            let path = url.get(CURLUPART_PATH)
        else { throw Self.invalid("the URL is malformed") }
        self.bytes = bytes
        origin = Origin(scheme: scheme, host: host, port: port)
        literal = IPAddress(host)
        let isLocal = host == "localhost" || host.hasSuffix(".localhost")
        lookupName = Self.isRooted(text) && literal == nil && !isLocal ? host + "." : host
        hasUserinfo = url.get(CURLUPART_USER) != nil || url.get(CURLUPART_PASSWORD) != nil
        requestText = parsed
        description = "\(origin)\(path)"
    }

    /// The URL of a `Location` header in this URL's response.
    package func resolving(_ location: [UInt8]) throws(FetchError) -> SourceURL {
        do throws(FetchError) {
            guard location.contains(where: { $0 > 0x20 }) else {
                throw Self.invalid("the header Location is empty")
            }
            try Self.checkText(location)
            let rooted = location.starts(with: Array("//".utf8))
            let start =
                rooted
                ? Self.authorityEnd(location, from: 2)
                : (Self.scheme(location).map { Self.authorityEnd(location, from: $0.count + 3) } ?? 0)
            let reference = Self.encoded(location, from: min(start, location.count))
            guard let url = CurlURL(), url.set(CURLUPART_URL, requestText, CURLU_PATH_AS_IS),
                url.set(CURLUPART_URL, reference, CURLU_NON_SUPPORT_SCHEME), let text = url.get(CURLUPART_URL)
            else { throw Self.invalid("the URL is malformed") }
            return try SourceURL(text)
        } catch {
            throw FetchError(error.code, "\(self): redirect: \(error.message)")
        }
    }

    /// SHA-256 of the URL as sent. Identifies it without revealing secrets.
    var digest: String { SHA256Digest.hex(of: requestText.utf8) }

    // MARK: - Reading

    private static func invalid(_ message: String) -> FetchError { FetchError(.invalidURL, message) }

    private static func checkText(_ bytes: [UInt8]) throws(FetchError) {
        if bytes.isEmpty { throw invalid("the URL is empty") }
        if bytes.count > maximumBytes { throw invalid("the URL has \(bytes.count) bytes, more than \(maximumBytes)") }
        if bytes.contains(where: { $0 < 0x20 || $0 == 0x7f }) { throw invalid("the URL contains a control character") }
    }

    /// The scheme before `:`, if any.
    private static func scheme(_ bytes: [UInt8]) -> ArraySlice<UInt8>? {
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), colon > 0 else { return nil }
        let scheme = bytes[..<colon]
        let letters = scheme.allSatisfy { byte in
            (0x61...0x7a).contains(byte | 0x20) || (0x30...0x39).contains(byte) || "+-.".utf8.contains(byte)
        }
        return letters && (0x61...0x7a).contains(scheme[0] | 0x20) ? scheme : nil
    }

    private static func authorityEnd(_ bytes: [UInt8], from start: Int) -> Int {
        guard start < bytes.count else { return bytes.count }
        return bytes[start...].firstIndex { "/?#".utf8.contains($0) } ?? bytes.count
    }

    /// The range of userinfo, host and port. Stricter than libcurl, which accepts missing and extra slashes.
    private static func authority(_ bytes: [UInt8]) throws(FetchError) -> Range<Int> {
        guard let scheme = scheme(bytes) else { throw invalid("the URL has no scheme; http or https is expected") }
        let name = String(decoding: scheme, as: UTF8.self)
        guard Scheme(rawValue: name.lowercased()) != nil else {
            throw FetchError(
                .unsupportedScheme, "the scheme \(name.prefix(32)) is not supported; only http and https are")
        }
        let start = scheme.count + 3
        guard bytes[scheme.endIndex...].starts(with: Array("://".utf8)) else {
            throw invalid("the URL has no // after its scheme")
        }
        let end = authorityEnd(bytes, from: start)
        if start >= end { throw invalid("the URL has no host") }
        // Ambiguous: some parsers treat a backslash as a slash.
        if bytes[start..<end].contains(UInt8(ascii: "\\")) { throw invalid("the URL has a backslash before its path") }
        return start..<end
    }

    /// The URL with all bytes that a request line cannot contain percent-encoded, from `start` on.
    private static func encoded(_ bytes: [UInt8], from start: Int) -> String {
        var text = bytes[..<start]
        for byte in bytes[start...] {
            if byte > 0x20 && byte < 0x7f && !"\"<>\\^`{|}".utf8.contains(byte) {
                text.append(byte)
            } else {
                text.append(contentsOf: PercentEscape.escape(byte))
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    // MARK: - Normal form

    /// libcurl's normal form without fragment, with an ASCII host without trailing dot. Parsed until it no longer
    /// changes: `2130706433.` becomes an address only without its dot.
    private static func parsed(_ text: String) throws(FetchError) -> String {
        var text = text
        for _ in 0..<3 {
            guard let url = CurlURL(), url.set(CURLUPART_URL, text, CURLU_PATH_AS_IS),
                url.set(CURLUPART_FRAGMENT, nil), let host = asciiHost(url)
            else { throw invalid("the URL is malformed") }
            if url.get(CURLUPART_ZONEID) != nil { throw invalid("the URL's host has a zone") }
            let bare = host.hasSuffix(".") ? String(host.dropLast()) : host
            guard !bare.isEmpty, url.set(CURLUPART_HOST, bare.lowercased()), let next = url.get(CURLUPART_URL) else {
                throw invalid("the URL's host is malformed")
            }
            if next.utf8.elementsEqual(text.utf8) { return next }
            text = next
        }
        throw invalid("the URL's host is malformed")
    }

    /// Whether the host has a trailing dot.
    private static func isRooted(_ text: String) -> Bool {
        guard let url = CurlURL(), url.set(CURLUPART_URL, text, CURLU_PATH_AS_IS) else { return false }
        return url.get(CURLUPART_HOST)?.hasSuffix(".") ?? false
    }

    private static func host(_ text: String) -> String? {
        guard let url = CurlURL(), url.set(CURLUPART_URL, text, CURLU_PATH_AS_IS), let host = url.get(CURLUPART_HOST)
        else { return nil }
        guard host.hasPrefix("[") else { return host.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f } ? host : nil }
        return IPAddress(host.dropFirst().dropLast()).map(\.description)
    }

    /// libidn2 uses the thread's locale, which must be UTF-8 for this call.
    private static func asciiHost(_ url: borrowing CurlURL) -> String? {
        guard let host = url.get(CURLUPART_HOST) else { return nil }
        if host.utf8.allSatisfy({ $0 < 0x80 }) { return host }
        guard let utf8 = newlocale(1 << LC_CTYPE, "C.UTF-8", nil) else { return nil }
        defer { freelocale(utf8) }
        let previous = uselocale(utf8)
        defer { _ = uselocale(previous) }
        return url.get(CURLUPART_HOST, CURLU_PUNYCODE)
    }
}

/// A URL parsed by libcurl. Wraps `CURLU`.
struct CurlURL: ~Copyable {
    private let handle: OpaquePointer

    /// Nil if out of memory.
    init?() {
        guard let handle = curl_url() else { return nil }
        self.handle = handle
    }

    deinit { curl_url_cleanup(handle) }

    /// Sets a part; a whole URL is resolved against the current one. False if malformed.
    func set(_ part: CURLUPart, _ text: String?, _ flags: Int32 = 0) -> Bool {
        curl_url_set(handle, part, text, UInt32(flags)) == CURLUE_OK
    }

    /// A part; nil if missing or not available in this form.
    func get(_ part: CURLUPart, _ flags: Int32 = 0) -> String? {
        var text: UnsafeMutablePointer<CChar>?
        guard curl_url_get(handle, part, &text, UInt32(flags)) == CURLUE_OK, let text else { return nil }
        defer { curl_free(text) }
        return String(cString: text)
    }
}
