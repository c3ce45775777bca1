/// The right to make one request, and what its end must be judged by.
package struct OriginPermit: Sendable, Equatable {
    let started: ContinuousClock.Instant
    /// Whether an open breaker let it through to find out.
    package let isProbe: Bool
    let epoch: Int
}

/// What an origin's last request failed with.
package struct OriginFailure: Sendable, Equatable {
    package let code: FetchError.Code
    package let httpStatus: Int?

    package init(code: FetchError.Code, httpStatus: Int?) {
        self.code = code
        self.httpStatus = httpStatus
    }
}

/// A change of an origin's state that other workers should hear of.
package enum OriginChange: Sendable, Equatable {
    /// It asks to be left alone for so long.
    case held(for: Duration)
    /// Its breaker has opened, for so long; `failedProbes` counts the probes that failed in a row.
    case opened(for: Duration, failedProbes: Int, OriginFailure)
    /// A probe succeeded.
    case closed

    /// Whether it is about a hold, not about the breaker.
    var isOfHold: Bool { if case .held = self { true } else { false } }
}

/// What the queue's database says of an origin.
package struct SharedOrigin: Sendable, Equatable {
    package enum Why: Sendable, Equatable {
        case held
        case breaker(failedProbes: Int, OriginFailure)
    }

    package let origin: Origin
    package let why: Why
    /// How long from now on; zero or less when a probe is due.
    package let remaining: Duration

    package init(origin: Origin, why: Why, remaining: Duration) {
        self.origin = origin
        self.why = why
        self.remaining = remaining
    }
}
