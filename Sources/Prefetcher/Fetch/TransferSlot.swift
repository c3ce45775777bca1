internal import CCurl
private import Glibc

/// A libcurl handle that serves one exchange after another.
///
/// Confined to the downloader's thread: its callbacks run there, within `curl_multi_perform`.
final class TransferSlot {
    let easy: EasyHandle
    private var exchange: Exchange?
    private var reception: Reception?
    private var pins: CurlList?
    private var headers: CurlList

    /// Nil only when memory is short.
    init?(_ configuration: FetchConfiguration) {
        guard let easy = EasyHandle(), let headers = CurlList("Accept: image/*,*/*;q=0.8") else { return nil }
        self.easy = easy
        self.headers = headers
        setOnce(configuration)
    }

    /// What is the same for every exchange. What libcurl would do by itself and must not: follow redirects, read
    /// proxies from the environment or passwords from files, speak other protocols, raise signals.
    private func setOnce(_ configuration: FetchConfiguration) {
        easy.set(CURLOPT_FOLLOWLOCATION, 0)
        easy.set(CURLOPT_PROTOCOLS_STR, "http,https")
        easy.set(CURLOPT_REDIR_PROTOCOLS_STR, "http,https")
        easy.set(CURLOPT_PROXY, "")
        easy.set(CURLOPT_NETRC, Int(CURL_NETRC_IGNORED.rawValue))
        easy.set(CURLOPT_NOSIGNAL, 1)
        easy.set(CURLOPT_NOPROGRESS, 1)
        easy.set(CURLOPT_HTTP09_ALLOWED, 0)
        easy.set(CURLOPT_UNRESTRICTED_AUTH, 0)
        easy.set(CURLOPT_PATH_AS_IS, 1)
        easy.set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2TLS))
        easy.set(CURLOPT_BUFFERSIZE, 64 << 10)
        easy.set(CURLOPT_TCP_KEEPALIVE, 1)
        easy.set(CURLOPT_MAXAGE_CONN, 118)
        easy.set(CURLOPT_MAXLIFETIME_CONN, 600)
        easy.set(CURLOPT_USERAGENT, configuration.userAgent)
        if let authorities = configuration.authorities { easy.set(CURLOPT_CAINFO, authorities) }
        larder_curl_set_list(easy.pointer, CURLOPT_HTTPHEADER, headers.pointer)
        larder_curl_set_callbacks(
            easy.pointer,
            { bytes, size, count, context in TransferSlot.of(context)?.onHeader(bytes, size * count) ?? 0 },
            { bytes, size, count, context in TransferSlot.of(context)?.onBody(bytes, size * count) ?? 0 },
            { context, _, address in TransferSlot.of(context)?.onSocket(address) ?? -1 },
            { context, peer, _, _, _ in TransferSlot.of(context)?.onRequest(peer) ?? CURL_PREREQFUNC_ABORT },
            Unmanaged.passUnretained(self).toOpaque())
    }

    /// What the handle is busy with.
    var url: SourceURL? { exchange?.url }

    /// Prepares the handle for an exchange; it must not be in use.
    func begin(_ exchange: Exchange) {
        self.exchange = exchange
        reception = Reception(exchange)
        easy.forgetFailure()
        easy.set(CURLOPT_URL, exchange.url.requestText)
        // Waits for the first connection to say whether it can be shared, which TLS does in its handshake. Without
        // TLS 7.88.1 would wait for the first answer, and so for a server that never gives one.
        easy.set(CURLOPT_PIPEWAIT, exchange.url.origin.scheme == .https ? 1 : 0)
        easy.set(CURLOPT_TIMEOUT_MS, exchange.timeLeft.curlMilliseconds)
        easy.set(CURLOPT_CONNECTTIMEOUT_MS, exchange.limits.connect.curlMilliseconds)
        easy.set(CURLOPT_LOW_SPEED_LIMIT, 1)
        easy.set(CURLOPT_LOW_SPEED_TIME, exchange.limits.idle.curlSeconds)
        pins = exchange.url.literal == nil ? CurlList(Self.pin(exchange)) : nil
        larder_curl_set_list(easy.pointer, CURLOPT_RESOLVE, pins?.pointer)
    }

    /// `+host:port:address,…`: what libcurl takes for the answer of the resolver, and forgets after a minute.
    private static func pin(_ exchange: Exchange) -> String {
        let addresses = exchange.addresses.map { $0.family == .v6 ? "[\($0)]" : "\($0)" }
        let origin = exchange.url.origin
        return "+\(origin.host):\(origin.port):\(addresses.joined(separator: ","))"
    }

    /// Takes the result. The handle must be out of the multi handle already; it then waits for the next exchange.
    func end(_ code: CURLcode, queued: Duration) -> Result<Reply, FetchError> {
        guard let exchange, let reception else {
            return .failure(FetchError(.transportFailed, "a transfer ended that had not begun"))
        }
        defer { abandon() }
        do throws(FetchError) {
            if let failure = reception.failure { throw failure }
            if code != CURLE_OK && !reception.isDiscarding { throw failure(code, exchange, reception) }
            return .success(try reply(exchange, reception, queued))
        } catch {
            return .failure(error)
        }
    }

    /// Forgets the exchange: nothing reaches its descriptor any more.
    func abandon() {
        larder_curl_set_list(easy.pointer, CURLOPT_RESOLVE, nil)
        pins = nil
        reception = nil
        exchange = nil
    }

    // MARK: - Results

    private func reply(
        _ exchange: Exchange, _ reception: Reception, _ queued: Duration
    ) throws(FetchError) -> Reply {
        let status = easy.count(CURLINFO_RESPONSE_CODE)
        let outcome: Reply.Outcome
        if (200..<300).contains(status) {
            outcome = .body(bytes: reception.bytes, sha256: try reception.finish())
        } else if [301, 302, 303, 307, 308].contains(status), let location = easy.header("Location") {
            outcome = .redirect(location)
        } else {
            throw FetchError(
                .badStatus, "\(exchange.url): HTTP status \(status)", httpStatus: status, retryAfter: retryAfter)
        }
        return Reply(
            outcome: outcome, status: status, headers: easy.headers, queued: queued,
            connect: max(easy.time(CURLINFO_CONNECT_TIME_T), easy.time(CURLINFO_APPCONNECT_TIME_T)),
            firstByte: easy.time(CURLINFO_STARTTRANSFER_TIME_T), total: easy.time(CURLINFO_TOTAL_TIME_T),
            connectionReused: easy.count(CURLINFO_NUM_CONNECTS) == 0,
            httpMajor: isMultiplexed ? 2 : 1)
    }

    /// Whether the last answer came over HTTP/2.
    var isMultiplexed: Bool { easy.count(CURLINFO_HTTP_VERSION) == Int(CURL_HTTP_VERSION_2_0) }

    /// At most an hour: an origin cannot park its URLs for ever.
    private var retryAfter: Duration? {
        let seconds = larder_curl_get_offset(easy.pointer, CURLINFO_RETRY_AFTER)
        return seconds > 0 ? .seconds(min(seconds, 3600)) : nil
    }

    private func failure(_ code: CURLcode, _ exchange: Exchange, _ reception: Reception) -> FetchError {
        if let refused = reception.refusedAddress { return refused }
        let kind = FetchError.Code(code)
        var message = easy.failureText(code)
        if kind == .timedOut {
            let isTotal = easy.time(CURLINFO_TOTAL_TIME_T) + .milliseconds(2) >= exchange.timeLeft
            let isConnect = easy.time(CURLINFO_PRETRANSFER_TIME_T) == .zero
            message =
                isTotal
                ? "not done within the total limit of \(exchange.limits.total)"
                : isConnect
                    ? "not connected within the connect limit of \(exchange.limits.connect)"
                    : "silent for the idle limit of \(exchange.limits.idle)"
        }
        let status = easy.count(CURLINFO_RESPONSE_CODE)
        return FetchError(
            kind, "\(exchange.url): \(message)", httpStatus: status > 0 ? status : nil,
            curlCode: Int32(code.rawValue))
    }

    // MARK: - Callbacks

    private static func of(_ context: UnsafeMutableRawPointer?) -> TransferSlot? {
        context.map { Unmanaged<TransferSlot>.fromOpaque($0).takeUnretainedValue() }
    }

    private func onHeader(_ bytes: UnsafeMutablePointer<CChar>?, _ count: Int) -> Int {
        guard let reception, let bytes, reception.headerLine(count) else { return 0 }
        guard bytes[0] == 0x0d || bytes[0] == 0x0a else { return count }
        let status = easy.count(CURLINFO_RESPONSE_CODE)
        guard status >= 200 else { return count }
        let length = easy.header("Content-Length").flatMap { Int64(String(decoding: $0, as: UTF8.self)) }
        return reception.headEnded(status: status, contentLength: length) ? count : 0
    }

    private func onBody(_ bytes: UnsafeMutablePointer<CChar>?, _ count: Int) -> Int {
        guard let reception, reception.body(UnsafeRawBufferPointer(start: bytes, count: count)) else { return 0 }
        return count
    }

    /// The second gate: no socket for an address that is closed, however libcurl came by it.
    private func onSocket(_ target: UnsafeMutablePointer<curl_sockaddr>?) -> curl_socket_t {
        guard let reception, let target, let offset = MemoryLayout<curl_sockaddr>.offset(of: \.addr) else { return -1 }
        guard reception.admits(IPAddress(socketAddress: UnsafeRawPointer(target) + offset)) else { return -1 }
        return socket(
            target.pointee.family, target.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue), target.pointee.protocol)
    }

    /// The third gate: a connection from the pool may have been opened under another policy.
    private func onRequest(_ peer: UnsafeMutablePointer<CChar>?) -> Int32 {
        guard let reception, let peer, reception.admits(IPAddress(String(cString: peer))) else {
            return CURL_PREREQFUNC_ABORT
        }
        return CURL_PREREQFUNC_OK
    }
}
