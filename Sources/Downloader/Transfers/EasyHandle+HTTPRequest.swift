internal import CCurl
private import Concurrency

/// Sets libcurl's options for a request.
extension EasyHandle {
    /// Options of every request. Disables libcurl's defaults: following redirects, proxies from the environment,
    /// passwords from files, other protocols, signals.
    func setOnce(_ configuration: FetchConfiguration) {
        set(CURLOPT_FOLLOWLOCATION, 0)
        set(CURLOPT_PROTOCOLS_STR, "http,https")
        set(CURLOPT_REDIR_PROTOCOLS_STR, "http,https")
        // CURL_NETRC_IGNORED, which newer versions of libcurl define differently.
        set(CURLOPT_NETRC, 0)
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
        // Images are already compressed. `ContentDecoder` decodes what arrives encoded anyway.
        set(CURLOPT_ACCEPT_ENCODING, "identity")
        set(CURLOPT_HTTP_CONTENT_DECODING, 0)
        if let authorities = configuration.authorities { set(CURLOPT_CAINFO, authorities) }
        set(CURLOPT_PROXY, configuration.proxy?.url.requestText ?? "")
        if let proxy = configuration.proxy {
            // libcurl's default is 1080.
            set(CURLOPT_PROXYPORT, Int(proxy.url.origin.port))
            // The environment's NO_PROXY would bypass the proxy.
            set(CURLOPT_NOPROXY, "")
            if let authorities = configuration.authorities { set(CURLOPT_PROXY_CAINFO, authorities) }
        }
    }

    /// Options of this request. Options that stay in the handle are set only if needed; such a handle is not reused
    /// (`HTTPRequest.leavesHandleClean`).
    func set(_ request: HTTPRequest, http2: Bool) {
        set(CURLOPT_URL, request.url.requestText)
        set(CURLOPT_HTTP_VERSION, Int(http2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1))
        // Waits until the first connection's TLS handshake shows whether it can be shared. Without TLS, libcurl 7.88.1
        // would wait for the first response.
        set(CURLOPT_PIPEWAIT, http2 ? 1 : 0)
        // libcurl treats 0 as no limit.
        set(CURLOPT_CONNECTTIMEOUT_MS, Int(clamping: max(1, request.limits.connect.milliseconds)))
        if request.leavesHandleClean { return }
        if request.allowsInvalidCertificates {
            set(CURLOPT_SSL_VERIFYPEER, 0)
            set(CURLOPT_SSL_VERIFYHOST, 0)
        }
        if let cookies = request.cookies {
            set(CURLOPT_COOKIEFILE, "")
            for cookie in cookies { set(CURLOPT_COOKIELIST, cookie) }
        }
        if let body = request.body {
            set(CURLOPT_POSTFIELDSIZE, body.count)
            // A null pointer would mean no body.
            _ = (body.isEmpty ? [0] : body).withUnsafeBytes { bytes in
                larder_curl_set_data(pointer, CURLOPT_COPYPOSTFIELDS, bytes.baseAddress)
            }
        }
        if let upload = request.fetch.upload {
            set(CURLOPT_UPLOAD, 1)
            larder_curl_set_upload_size(pointer, Int64(upload.count))
        } else if request.method == "HEAD" {
            set(CURLOPT_NOBODY, 1)
        }
        if request.method != "GET" || request.body != nil || request.fetch.upload != nil {
            set(CURLOPT_CUSTOMREQUEST, request.method)
        }
        if let credentials = request.credentials { set(credentials) }
    }

    private func set(_ credentials: CredentialProfile) {
        if let user = credentials.user {
            // Not NTLM or Negotiate: they authenticate the connection, which other requests share, or the process's
            // user.
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

    /// Sets the headers; the list must live as long as they are set.
    ///
    /// - Parameter sendsBody: the body follows the headers immediately, without `Expect`.
    func setHeaders(_ headers: [HeaderField], sendsBody: Bool) -> CurlList? {
        let expect = sendsBody ? ["Expect:"] : []
        return setList(
            CURLOPT_HTTPHEADER, headers.map { "\($0.name):\($0.value.isEmpty ? "" : " ")\($0.value)" } + expect)
    }

    /// Pins the addresses with `+host:port:address,…`, which libcurl uses instead of a lookup and drops after a minute.
    /// The list must live as long as it is set.
    func setAddresses(_ request: HTTPRequest) -> CurlList? {
        let target = request.proxy?.url ?? request.url
        let addresses = request.addresses.map { $0.family == .v6 ? "[\($0)]" : "\($0)" }
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

    /// In libcurl's notation.
    var cookies: [String] {
        guard let list = larder_curl_get_list(pointer, CURLINFO_COOKIELIST) else { return [] }
        defer { curl_slist_free_all(list) }
        return sequence(first: list, next: \.pointee.next).compactMap { $0.pointee.data.map { String(cString: $0) } }
    }
}
