internal import CCurl
private import Glibc

/// One curl handle, reused for successive requests.
///
/// Confined to the network thread: its callbacks run within `curl_multi_perform`.
final class CurlTransfer {
    let easy: EasyHandle
    private var request: HTTPRequest?
    private var handler: ResponseHandler?
    private var addresses: CurlList?
    private var headers: CurlList?
    private let longestHold: Duration
    /// The error number of the last socket that failed to open; 0 if none did.
    private var socketError: Int32 = 0
    /// Bytes of the uploaded part passed to libcurl.
    private var sent = 0

    /// Nil if out of memory.
    init?(_ configuration: FetchConfiguration) {
        guard let easy = EasyHandle() else { return nil }
        self.easy = easy
        longestHold = configuration.origins.longestHold
        self.easy.setOnce(configuration)
        larder_curl_set_callbacks(
            self.easy.pointer,
            { bytes, size, count, context in CurlTransfer.of(context)?.onHeader(bytes, size * count) ?? 0 },
            { bytes, size, count, context in CurlTransfer.of(context)?.onBody(bytes, size * count) ?? 0 },
            { context, _, address in CurlTransfer.of(context)?.onSocket(address) ?? -1 },
            { context, peer, _, _, _ in CurlTransfer.of(context)?.onRequest(peer) ?? CURL_PREREQFUNC_ABORT },
            Unmanaged.passUnretained(self).toOpaque())
        larder_curl_set_upload(
            self.easy.pointer,
            { buffer, size, count, context in
                CurlTransfer.of(context)?.onRead(buffer, size * count) ?? Int(CURL_READFUNC_ABORT)
            },
            { context, offset, origin in CurlTransfer.of(context)?.onSeek(offset, origin) ?? CURL_SEEKFUNC_FAIL },
            Unmanaged.passUnretained(self).toOpaque())
    }

    /// Prepares the handle for a try; it must not be in a multi handle.
    func begin(_ request: HTTPRequest, _ handler: ResponseHandler, http2: Bool) {
        self.request = request
        self.handler = handler
        socketError = 0
        sent = 0
        easy.clearError()
        easy.set(request, http2: http2)
        headers = easy.setHeaders(
            request.sentHeaders + handler.resumptionHeaders, sendsBody: request.fetch.upload != nil)
        addresses = easy.setAddresses(request)
    }

    /// The transfer's result. The handle must already be removed from the multi handle.
    func end(_ code: CURLcode) -> Result<FetchResponse, FetchError> {
        guard let request, let handler else {
            return .failure(FetchError(.transportFailed, "a transfer ended that had not begun"))
        }
        do throws(FetchError) {
            if let refusal = proxyRefusal(request) { throw refusal }
            if let failure = handler.failure { throw failure }
            if code != CURLE_OK && !handler.isDecided { throw failure(code, request, handler) }
            var response = try handler.finish()
            response.url = request.url
            response.cookies = request.cookies == nil ? [] : easy.cookies
            response.timings.connect = max(easy.time(CURLINFO_CONNECT_TIME_T), easy.time(CURLINFO_APPCONNECT_TIME_T))
            response.timings.firstByte = easy.time(CURLINFO_STARTTRANSFER_TIME_T)
            response.isConnectionReused = easy.count(CURLINFO_NUM_CONNECTS) == 0
            response.httpMajor = isMultiplexed ? 2 : 1
            return .success(response)
        } catch {
            return .failure(error)
        }
    }

    /// Detaches the request: its sinks receive nothing more.
    func reset() {
        larder_curl_set_list(easy.pointer, CURLOPT_RESOLVE, nil)
        larder_curl_set_list(easy.pointer, CURLOPT_HTTPHEADER, nil)
        addresses = nil
        headers = nil
        handler = nil
        request = nil
    }

    var isMultiplexed: Bool { easy.count(CURLINFO_HTTP_VERSION) == Int(CURL_HTTP_VERSION_2_0) }

    private func failure(_ code: CURLcode, _ request: HTTPRequest, _ handler: ResponseHandler) -> FetchError {
        if let refused = handler.refusedAddress { return refused }
        if larder_curl_lacks_room(code), easy.count(CURLINFO_REQUEST_SIZE) > 0,
            let oversized = handler.oversizedHeader
        {
            return oversized
        }
        let number = Int32(clamping: easy.count(CURLINFO_OS_ERRNO))
        if code == CURLE_COULDNT_CONNECT,
            let reason = LocalFault.reason(socketError) ?? LocalFault.reason(number)
        {
            return FetchError(.localFault, "\(request.url): not connected, \(reason)", curlCode: Int32(code.rawValue))
        }
        if let proxy = request.proxy, isProxyFailure(code) {
            return FetchError(
                .localFault, "\(request.url): the proxy \(proxy.url.origin) cannot be used: \(easy.errorMessage(code))",
                curlCode: Int32(code.rawValue))
        }
        if let name = request.profileName, let file = request.credentials?.file(refusedBy: code) {
            return FetchError(
                .localFault,
                "\(request.url): the credential profile '\(name)': \(file): \(easy.errorMessage(code))",
                curlCode: Int32(code.rawValue), profile: name)
        }
        let cause = localCause(code, number, request)
        // Checked here, so that it does not count against the origin.
        if cause == .network, let reason = LocalFault.deadGateway(to: request.addresses) {
            return FetchError(.localFault, "\(request.url): not connected, \(reason)", curlCode: Int32(code.rawValue))
        }
        let kind = FetchError.Code(code)
        // `Transfers.checkTimeouts` handles the other limits.
        let message =
            kind == .timedOut
            ? "not connected within the connect limit of \(request.limits.connect)" : easy.errorMessage(code)
        let status = easy.count(CURLINFO_RESPONSE_CODE)
        return FetchError(
            kind, "\(request.url): \(message)", httpStatus: status > 0 ? status : nil,
            curlCode: Int32(code.rawValue),
            localCause: cause)
    }

    /// The part of this machine that may have caused the failure.
    private func localCause(_ code: CURLcode, _ number: Int32, _ request: HTTPRequest) -> LocalCause? {
        switch code {
        case CURLE_OPERATION_TIMEDOUT: .network
        case CURLE_COULDNT_CONNECT: LocalFault.isPossible(number, to: request.addresses) ? .network : nil
        case CURLE_SSL_CONNECT_ERROR, CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_GOT_NOTHING:
            // A firewall may end connections, even during the handshake.
            easy.count(CURLINFO_RESPONSE_CODE) == 0 && LocalFault.isPossible(ECONNRESET, to: request.addresses)
                ? .network : nil
        case CURLE_PEER_FAILED_VERIFICATION:
            LocalCause(verification: easy.count(CURLINFO_SSL_VERIFYRESULT)).flatMap { cause in
                // A profile's authorities concern only its origins.
                cause == .certificateIssuer && request.credentials?.authorities != nil ? nil : cause
            }
        default: nil
        }
    }

    /// The error if a proxy rejects this worker's credentials; nil otherwise. A 407 received through a tunnel is the
    /// origin's.
    private func proxyRefusal(_ request: HTTPRequest) -> FetchError? {
        guard let proxy = request.proxy else { return nil }
        let tunnel = easy.count(CURLINFO_HTTP_CONNECTCODE)
        guard tunnel == 407 || tunnel == 0 && easy.count(CURLINFO_RESPONSE_CODE) == 407 else { return nil }
        return FetchError(
            .localFault,
            "\(request.url): the proxy \(proxy.url.origin) does not accept the user name and password (407)")
    }

    /// Whether a proxy failed, which is part of this machine's configuration. Once connected, the origin may be the one
    /// that does not respond.
    private func isProxyFailure(_ code: CURLcode) -> Bool {
        switch code {
        case CURLE_COULDNT_RESOLVE_PROXY, CURLE_COULDNT_CONNECT: true
        case CURLE_OPERATION_TIMEDOUT: easy.time(CURLINFO_CONNECT_TIME_T) == .zero
        case CURLE_PEER_FAILED_VERIFICATION: easy.count(CURLINFO_PROXY_SSL_VERIFYRESULT) != 0
        default: false
        }
    }

    // MARK: - Callbacks

    private static func of(_ context: UnsafeMutableRawPointer?) -> CurlTransfer? {
        context.map { Unmanaged<CurlTransfer>.fromOpaque($0).takeUnretainedValue() }
    }

    private func onHeader(_ bytes: UnsafeMutablePointer<CChar>?, _ count: Int) -> Int {
        guard let handler, let bytes, count > 0, handler.header(count, at: .now) else { return 0 }
        let line = UnsafeRawBufferPointer(start: bytes, count: count)
        if line.starts(with: "HTTP/".utf8) { handler.responseBegins() }
        guard line[0] == 0x0d || line[0] == 0x0a, handler.verdict == nil else { return count }
        let status = easy.count(CURLINFO_RESPONSE_CODE)
        guard status >= 200 else { return count }
        handler.sharesConnection = isMultiplexed
        let seconds = larder_curl_get_offset(easy.pointer, CURLINFO_RETRY_AFTER)
        let continues = handler.headEnds(
            ResponseHead(status: status, headers: easy.headers), location: easy.header("Location"),
            // Bounded, so that an origin cannot delay its URLs for ever.
            retryAfter: seconds > 0 ? min(.seconds(seconds), longestHold) : nil)
        return continues ? count : 0
    }

    private func onBody(_ bytes: UnsafeMutablePointer<CChar>?, _ count: Int) -> Int {
        let piece = UnsafeRawBufferPointer(start: bytes, count: count)
        let now = ContinuousClock.now
        guard let handler, handler.body(piece, at: now) else { return 0 }
        // Pause here: libcurl passes on everything that a fast peer sends before it returns. It continues after the
        // call.
        if handler.pausedAt == nil, handler.adjustPause(at: now) { easy.pause(true) }
        return count
    }

    /// The next piece of an uploaded part. Read here, as it was just written and is in the page cache.
    private func onRead(_ buffer: UnsafeMutablePointer<CChar>?, _ capacity: Int) -> Int {
        guard let buffer, let upload = request?.fetch.upload else { return 0 }
        handler?.sends(at: .now)
        let count = upload.read(into: UnsafeMutableRawBufferPointer(start: buffer, count: capacity), at: sent)
        guard let count else { return Int(CURL_READFUNC_ABORT) }
        sent += count
        return count
    }

    /// libcurl sends the part again over another connection.
    private func onSeek(_ offset: curl_off_t, _ origin: Int32) -> Int32 {
        guard origin == SEEK_SET, offset >= 0 else { return CURL_SEEKFUNC_CANTSEEK }
        sent = Int(offset)
        return CURL_SEEKFUNC_OK
    }

    /// The second address check: no socket for a refused address, whatever its source.
    private func onSocket(_ target: UnsafeMutablePointer<curl_sockaddr>?) -> curl_socket_t {
        guard let handler, let target, let offset = MemoryLayout<curl_sockaddr>.offset(of: \.addr) else { return -1 }
        handler.leavesQueue(at: .now)
        guard handler.admits(IPAddress(socketAddress: UnsafeRawPointer(target) + offset)) else { return -1 }
        let descriptor = socket(
            target.pointee.family, target.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue), target.pointee.protocol)
        if descriptor < 0 { socketError = errno }
        return descriptor
    }

    /// The third check: a pooled connection may have been opened under another policy.
    private func onRequest(_ peer: UnsafeMutablePointer<CChar>?) -> Int32 {
        guard let handler, let peer, handler.admits(IPAddress(String(cString: peer))) else {
            return CURL_PREREQFUNC_ABORT
        }
        handler.leavesQueue(at: .now)
        return CURL_PREREQFUNC_OK
    }
}
