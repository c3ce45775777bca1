/// The outcome of a transfer for its origin.
package enum RequestOutcome: Sendable, Equatable {
    /// A response with any body.
    case answered(status: Int, retryAfter: Duration? = nil, firstByte: Duration? = nil)
    /// No connection, or no response in time.
    case failed(FetchError.Code)
    /// No request was sent, or it was cancelled before a response.
    case unknown

    /// Whether the origin asks for a lower rate.
    var isOverload: Bool {
        if case .answered(let status, _, _) = self { status == 429 || status == 503 } else { false }
    }

    /// The pause that the origin asks for.
    var hold: Duration? {
        guard isOverload, case .answered(_, let wait, _) = self else { return nil }
        return wait
    }

    init(_ result: Result<FetchResponse, FetchError>) {
        switch result {
        case .success(let response):
            self = .answered(status: response.status ?? 200, firstByte: response.timings.firstByte)
        case .failure(let error): self.init(error)
        }
    }

    init(_ error: FetchError) {
        self =
            switch error.code {
            case .badStatus: .answered(status: error.httpStatus ?? 0, retryAfter: error.retryAfter)
            // The origin responded; the rest concerns the URL only.
            case .badImageData, .bodyTooLarge, .badContentEncoding, .loginDenied, .writeFailed, .notModified,
                .badResponse, .badContentType, .pixelsExceeded, .edgeExceeded, .framesExceeded:
                .answered(status: error.httpStatus ?? 200)
            case .cannotConnect, .timedOut, .connectionLost, .handshakeFailed, .certificateRefused,
                .badServerResponse, .transportFailed:
                .failed(error.code)
            case .invalidURL, .unsupportedScheme, .addressRefused, .portRefused, .downgradeRefused, .robotsRefused,
                .originHeld, .nameNotFound, .tooManyRedirects, .invalidOperation, .localFault, .cancelled,
                .fileNotFound, .fileNotRegular, .fileNotPermitted, .fileReadFailed:
                .unknown
            }
    }
}
