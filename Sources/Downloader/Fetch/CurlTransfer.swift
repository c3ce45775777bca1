internal import CCurl
private import Glibc

/// A libcurl handle that serves one exchange after another.
///
/// Confined to the downloader's thread: its callbacks run there, within `curl_multi_perform`.
final class CurlTransfer {
    let easy: EasyHandle
    private var exchange: HTTPRequest?
    private var reception: ResponseHandler?
    private var pins: CurlList?
    private var headers: CurlList?
    private var timeLeft = Duration.zero

    /// Nil only when memory is short.
    init?(_ configuration: FetchConfiguration) {
        guard let easy = EasyHandle() else { return nil }
        self.easy = easy
        self.easy.setOnce(configuration)
        larder_curl_set_callbacks(
            self.easy.pointer,
            { bytes, size, count, context in CurlTransfer.of(context)?.onHeader(bytes, size * count) ?? 0 },
            { bytes, size, count, context in CurlTransfer.of(context)?.onBody(bytes, size * count) ?? 0 },
            { context, _, address in CurlTransfer.of(context)?.onSocket(address) ?? -1 },
            { context, peer, _, _, _ in CurlTransfer.of(context)?.onRequest(peer) ?? CURL_PREREQFUNC_ABORT },
            Unmanaged.passUnretained(self).toOpaque())
    }

    /// Prepares the handle for an exchange, or for what is left of it; it must not be in a multi handle.
    func begin(_ exchange: HTTPRequest, _ reception: ResponseHandler, _ version: HTTPVersion, timeLeft: Duration) {
        self.exchange = exchange
        self.reception = reception
        self.timeLeft = timeLeft
        easy.forgetFailure()
        easy.set(exchange, version)
        easy.set(CURLOPT_TIMEOUT_MS, timeLeft.curlMilliseconds)
        headers = easy.setHeaders(exchange.sentHeaders + reception.resumptionHeaders)
        pins = easy.setAddresses(exchange)
    }

    /// Takes the result. The handle must be out of the multi handle already.
    func end(_ code: CURLcode, resumptions: Int) -> Result<Reply, FetchError> {
        guard let exchange, let reception else {
            return .failure(FetchError(.transportFailed, "a transfer ended that had not begun"))
        }
        do throws(FetchError) {
            if let failure = reception.failure { throw failure }
            if code != CURLE_OK && !reception.isDecided { throw failure(code, exchange, reception) }
            return .success(try reply(exchange, reception, resumptions))
        } catch {
            return .failure(error)
        }
    }

    /// Forgets the exchange: nothing reaches its recipients any more.
    func abandon() {
        larder_curl_set_list(easy.pointer, CURLOPT_RESOLVE, nil)
        larder_curl_set_list(easy.pointer, CURLOPT_HTTPHEADER, nil)
        pins = nil
        headers = nil
        reception = nil
        exchange = nil
    }

    /// Whether the last answer came over HTTP/2.
    var isMultiplexed: Bool { easy.count(CURLINFO_HTTP_VERSION) == Int(CURL_HTTP_VERSION_2_0) }

    // MARK: - Results

    private func reply(
        _ exchange: HTTPRequest, _ reception: ResponseHandler, _ resumptions: Int
    ) throws(FetchError) -> Reply {
        let outcome: Reply.Outcome
        let status: Int
        var headers: [HeaderField] = []
        switch reception.verdict {
        case .body(let head)?:
            outcome = .body(bytes: reception.bytes, sha256: try reception.finish())
            (status, headers) = (head.status, head.headers)
        case .redirect(let location, let code)?: (outcome, status) = (.redirect(location), code)
        case .notModified(let head)?: (outcome, status, headers) = (.notModified, head.status, head.headers)
        case .refused(let error)?: throw error
        case .unusable?, nil:
            throw FetchError(.badServerResponse, "\(exchange.url): an answer without a head")
        }
        return Reply(
            outcome: outcome, status: status, headers: headers, cookies: exchange.cookies == nil ? [] : easy.cookies,
            resumptions: resumptions,
            connect: max(easy.time(CURLINFO_CONNECT_TIME_T), easy.time(CURLINFO_APPCONNECT_TIME_T)),
            firstByte: easy.time(CURLINFO_STARTTRANSFER_TIME_T),
            connectionReused: easy.count(CURLINFO_NUM_CONNECTS) == 0, httpMajor: isMultiplexed ? 2 : 1)
    }

    private func failure(_ code: CURLcode, _ exchange: HTTPRequest, _ reception: ResponseHandler) -> FetchError {
        if let refused = reception.refusedAddress { return refused }
        let kind = FetchError.Code(code)
        var message = easy.failureText(code)
        if kind == .timedOut {
            let isConnect = easy.time(CURLINFO_PRETRANSFER_TIME_T) == .zero
            let isTotal = easy.time(CURLINFO_TOTAL_TIME_T) + .milliseconds(2) >= timeLeft
            message =
                isConnect && !isTotal
                ? "not connected within the connect limit of \(exchange.limits.connect)"
                : "not done within the total limit of \(exchange.limits.total)"
        }
        let status = easy.count(CURLINFO_RESPONSE_CODE)
        return FetchError(
            kind, "\(exchange.url): \(message)", httpStatus: status > 0 ? status : nil,
            curlCode: Int32(code.rawValue))
    }

    // MARK: - Callbacks

    private static func of(_ context: UnsafeMutableRawPointer?) -> CurlTransfer? {
        context.map { Unmanaged<CurlTransfer>.fromOpaque($0).takeUnretainedValue() }
    }

    private func onHeader(_ bytes: UnsafeMutablePointer<CChar>?, _ count: Int) -> Int {
        guard let reception, let bytes, count > 0, reception.headerLine(count, at: .now) else { return 0 }
        let line = UnsafeRawBufferPointer(start: bytes, count: count)
        if line.starts(with: "HTTP/".utf8) { reception.answerBegins() }
        guard line[0] == 0x0d || line[0] == 0x0a, reception.verdict == nil else { return count }
        let status = easy.count(CURLINFO_RESPONSE_CODE)
        guard status >= 200 else { return count }
        let headers = easy.headers
        let seconds = larder_curl_get_offset(easy.pointer, CURLINFO_RETRY_AFTER)
        let goesOn = reception.headEnded(
            status: status, headers: headers, contentLength: headers["Content-Length"].flatMap { Int64($0) },
            location: easy.header("Location"),
            // At most an hour: an origin cannot park its URLs for ever.
            retryAfter: seconds > 0 ? .seconds(min(seconds, 3600)) : nil)
        return goesOn ? count : 0
    }

    private func onBody(_ bytes: UnsafeMutablePointer<CChar>?, _ count: Int) -> Int {
        let piece = UnsafeRawBufferPointer(start: bytes, count: count)
        guard let reception, reception.body(piece, at: .now) else { return 0 }
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
