internal import CCurl

extension FetchError.Code {
    /// Maps libcurl's result to a kind of failure. The only such place.
    init(_ result: CURLcode) {
        self =
            switch result {
            case CURLE_OPERATION_TIMEDOUT: .timedOut
            case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY: .nameNotFound
            case CURLE_COULDNT_CONNECT: .cannotConnect
            case CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_PARTIAL_FILE, CURLE_GOT_NOTHING, CURLE_HTTP2,
                CURLE_HTTP2_STREAM, CURLE_HTTP3, CURLE_QUIC_CONNECT_ERROR:
                .connectionLost
            case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CIPHER, CURLE_SSL_SHUTDOWN_FAILED: .handshakeFailed
            case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS,
                CURLE_SSL_PINNEDPUBKEYNOTMATCH, CURLE_SSL_CLIENTCERT:
                .certificateRefused
            // The files of authorities and client certificate, memory and libraries belong to this machine.
            case CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CRL_BADFILE, CURLE_SSL_CERTPROBLEM, CURLE_SSL_ENGINE_NOTFOUND,
                CURLE_SSL_ENGINE_SETFAILED, CURLE_SSL_ENGINE_INITFAILED, CURLE_OUT_OF_MEMORY, CURLE_FAILED_INIT:
                .localFault
            case CURLE_TOO_MANY_REDIRECTS: .tooManyRedirects
            case CURLE_URL_MALFORMAT: .invalidURL
            // The scheme was checked before: this is a response without a status line, HTTP/0.9.
            case CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY: .badServerResponse
            case CURLE_BAD_CONTENT_ENCODING: .badContentEncoding
            case CURLE_LOGIN_DENIED: .loginDenied
            case CURLE_FILESIZE_EXCEEDED: .bodyTooLarge
            case CURLE_ABORTED_BY_CALLBACK: .cancelled
            default: .transportFailed
            }
    }
}

extension LocalCause {
    /// From OpenSSL's verification result, `X509_V_ERR_…`; nil for other certificate faults, such as a wrong host name.
    init?(verification result: Int) {
        switch result {
        // Not yet or no longer valid: certificate (9, 10), revocation list (11, 12).
        case 9...12: self = .certificateDates
        // Issuer's certificate missing (2, 20, 21), self-signed (18, 19), untrusted (27).
        case 2, 18...21, 27: self = .certificateIssuer
        default: return nil
        }
    }
}

extension CredentialProfile {
    /// The profile's file that libcurl could not use, with the key's if either may be meant; nil for other causes.
    func file(refusedBy result: CURLcode) -> String? {
        switch result {
        case CURLE_SSL_CERTPROBLEM: certificate.map { [$0, key].compactMap { $0 }.joined(separator: " or ") }
        case CURLE_SSL_CACERT_BADFILE: authorities
        default: nil
        }
    }
}

extension HTTP2Fallback {
    /// Whether a result is an HTTP/2 failure: framing, a reset stream, a request that cannot be sent, or a connection
    /// that ended before its stream.
    ///
    /// libcurl 7.88.1 reports bytes that are no frame as `CURLE_SEND_ERROR`, or as `CURLE_GOT_NOTHING` if the
    /// connection closes at the same time.
    ///
    /// - Parameters:
    ///   - isMultiplexed: the response head came over HTTP/2.
    ///   - hasHead: there was a response head.
    static func isFault(_ result: CURLcode, isMultiplexed: Bool, hasHead: Bool) -> Bool {
        switch result {
        case CURLE_HTTP2, CURLE_HTTP2_STREAM, CURLE_SEND_ERROR: true
        case CURLE_PARTIAL_FILE, CURLE_RECV_ERROR, CURLE_GOT_NOTHING: isMultiplexed || !hasHead
        default: false
        }
    }
}
