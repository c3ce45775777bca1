/// How one request to an origin went, as far as it says something about the origin.
package enum RequestOutcome: Sendable, Equatable {
    /// It answered, with whatever body.
    case answered(status: Int, retryAfter: Duration? = nil, firstByte: Duration? = nil)
    /// It could not be reached or did not answer in time.
    case failed(FetchError.Code)
    /// It was not asked, or left before it could answer: nothing is known.
    case unknown

    /// What it may mean for the breaker.
    enum Meaning: Sendable, Equatable {
        case good
        case bad
        /// Neither: trouble that is not the origin's being down.
        case neither
        case nothing
    }

    /// What it means by these rules.
    func meaning(_ faults: OriginFaults) -> Meaning {
        switch self {
        case _ where faults.counts(self): .bad
        case .answered: .good
        case .failed: .neither
        case .unknown: .nothing
        }
    }

    /// Whether the origin asks for less.
    var isOverload: Bool {
        if case .answered(let status, _, _) = self { status == 429 || status == 503 } else { false }
    }

    /// How long it asks to be left alone altogether.
    var hold: Duration? {
        guard isOverload, case .answered(_, let wait, _) = self else { return nil }
        return wait
    }

    /// What an exchange that ended in an error says.
    init(_ error: FetchError) {
        self =
            switch error.code {
            case .badStatus: .answered(status: error.httpStatus ?? 0, retryAfter: error.retryAfter)
            // It answered; what it sent is the URL's matter.
            case .badImageData, .bodyTooLarge, .badContentEncoding, .loginDenied, .writeFailed, .notModified,
                .badResponse, .badContentType, .pixelsExceeded, .edgeExceeded, .framesExceeded:
                .answered(status: error.httpStatus ?? 200)
            case .cannotConnect, .timedOut, .connectionLost, .handshakeFailed, .certificateRefused,
                .badServerResponse, .transportFailed:
                .failed(error.code)
            case .invalidURL, .unsupportedScheme, .addressRefused, .portRefused, .downgradeRefused, .robotsRefused,
                .originHeld, .nameNotFound, .tooManyRedirects, .invalidOperation, .cancelled:
                .unknown
            }
    }
}
