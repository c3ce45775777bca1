internal import CCurl

/// How an exchange is put to libcurl: every option that Larder sets, and why.
extension EasyHandle {
    /// What is the same for every exchange. What libcurl would do by itself and must not: follow redirects, read
    /// proxies from the environment or passwords from files, speak other protocols, raise signals.
    func setOnce(_ configuration: FetchConfiguration) {
        set(CURLOPT_FOLLOWLOCATION, 0)
        set(CURLOPT_PROTOCOLS_STR, "http,https")
        set(CURLOPT_REDIR_PROTOCOLS_STR, "http,https")
        set(CURLOPT_NETRC, Int(CURL_NETRC_IGNORED.rawValue))
        set(CURLOPT_NOSIGNAL, 1)
        set(CURLOPT_NOPROGRESS, 1)
        set(CURLOPT_HTTP09_ALLOWED, 0)
        set(CURLOPT_UNRESTRICTED_AUTH, 0)
        set(CURLOPT_PATH_AS_IS, 1)
        set(CURLOPT_BUFFERSIZE, 64 << 10)
        set(CURLOPT_TCP_KEEPALIVE, 1)
        set(CURLOPT_MAXAGE_CONN, 118)
        set(CURLOPT_MAXLIFETIME_CONN, 600)
        set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        set(CURLOPT_USERAGENT, configuration.userAgent)
        if let authorities = configuration.authorities { set(CURLOPT_CAINFO, authorities) }
        set(CURLOPT_PROXY, configuration.proxy?.url.requestText ?? "")
        if let proxy = configuration.proxy {
            // libcurl's own guess is 1080.
            set(CURLOPT_PROXYPORT, Int(proxy.url.origin.port))
            // Names that the environment lists would go past the proxy.
            set(CURLOPT_NOPROXY, "")
            if let authorities = configuration.authorities { set(CURLOPT_PROXY_CAINFO, authorities) }
        }
    }

    /// What is this exchange's. What leaves a trace in the handle is set only where it is wanted; such a handle is
    /// not used again (`HTTPRequest.leavesNoTrace`).
    func set(_ exchange: HTTPRequest, _ version: HTTPVersion) {
        set(CURLOPT_URL, exchange.url.requestText)
        set(CURLOPT_HTTP_VERSION, Int(version == .two ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1))
        // Waits for the first connection to say whether it can be shared, which TLS does in its handshake. Without
        // TLS 7.88.1 would wait for the first answer, and so for a server that never gives one.
        set(CURLOPT_PIPEWAIT, exchange.url.origin.scheme == .https && version == .two ? 1 : 0)
        set(CURLOPT_CONNECTTIMEOUT_MS, exchange.limits.connect.curlMilliseconds)
        if exchange.leavesNoTrace { return }
        if exchange.allowsInvalidCertificates {
            set(CURLOPT_SSL_VERIFYPEER, 0)
            set(CURLOPT_SSL_VERIFYHOST, 0)
        }
        if let cookies = exchange.cookies {
            set(CURLOPT_COOKIEFILE, "")
            for cookie in cookies { set(CURLOPT_COOKIELIST, cookie) }
        }
        if let body = exchange.body {
            set(CURLOPT_POSTFIELDSIZE, body.count)
            // libcurl takes no address for no body at all.
            _ = (body.isEmpty ? [0] : body).withUnsafeBytes { bytes in
                larder_curl_set_data(pointer, CURLOPT_COPYPOSTFIELDS, bytes.baseAddress)
            }
        }
        if exchange.method != "GET" || exchange.body != nil { set(CURLOPT_CUSTOMREQUEST, exchange.method) }
        if let credentials = exchange.credentials { set(credentials) }
    }

    private func set(_ credentials: CredentialProfile) {
        if let user = credentials.user {
            // Not by NTLM or Negotiate, which would log in a connection that others use, or the process's own user.
            set(CURLOPT_HTTPAUTH, larder_curl_auth_basic_or_digest())
            set(CURLOPT_USERNAME, user)
            set(CURLOPT_PASSWORD, credentials.password ?? "")
        }
        if !credentials.cookies.isEmpty {
            set(CURLOPT_COOKIE, credentials.cookies.map { "\($0.name)=\($0.value)" }.joined(separator: "; "))
        }
        if let certificate = credentials.certificate {
            set(CURLOPT_SSLCERT, certificate)
            set(CURLOPT_SSLKEY, credentials.key ?? certificate)
        }
        if let password = credentials.keyPassword { set(CURLOPT_KEYPASSWD, password) }
        if let authorities = credentials.authorities { set(CURLOPT_CAINFO, authorities) }
    }

    /// Sets the headers to send; the list must live as long as they are set.
    func setHeaders(_ headers: [HeaderField]) -> CurlList? {
        setList(CURLOPT_HTTPHEADER, headers.map { "\($0.name):\($0.value.isEmpty ? "" : " ")\($0.value)" })
    }

    /// Pins the addresses: `+host:port:address,…` is what libcurl takes for the answer of the resolver, and forgets
    /// after a minute. The list must live as long as it is set.
    func setAddresses(_ exchange: HTTPRequest) -> CurlList? {
        let target = exchange.proxy?.url ?? exchange.url
        let addresses = exchange.addresses.map { $0.family == .v6 ? "[\($0)]" : "\($0)" }
        let pin = "+\(target.origin.host):\(target.origin.port):\(addresses.joined(separator: ","))"
        return setList(CURLOPT_RESOLVE, target.literal == nil ? [pin] : [])
    }

    private func setList(_ option: CURLoption, _ texts: [String]) -> CurlList? {
        guard let list = CurlList(texts) else {
            larder_curl_set_list(pointer, option, nil)
            return nil
        }
        larder_curl_set_list(pointer, option, list.pointer)
        return list
    }

    /// The cookies the handle knows, in libcurl's notation.
    var cookies: [String] {
        guard let list = larder_curl_get_list(pointer, CURLINFO_COOKIELIST) else { return [] }
        defer { curl_slist_free_all(list) }
        return sequence(first: list, next: \.pointee.next).compactMap { $0.pointee.data.map { String(cString: $0) } }
    }
}

extension HTTPRequest {
    /// All headers that are sent by our will, each name once: the request's, the profile's, Larder's own.
    var sentHeaders: [HeaderField] {
        var sent = credentials?.headers ?? []
        for header in headers where !sent.contains(where: { $0.isNamed(header.name) }) { sent.append(header) }
        if sent["Accept"] == nil { sent.append(HeaderField("Accept", "image/*,*/*;q=0.8")) }
        return sent
    }
}
