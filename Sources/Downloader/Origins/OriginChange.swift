/// The permission for one transfer, by which its outcome is judged.
package struct OriginPermit: Sendable, Equatable {
    let origin: Origin
    let started: ContinuousClock.Instant
    /// Whether an open breaker admitted it as its probe.
    let isProbe: Bool
    /// The breaker's period in which it started.
    let epoch: Int
    /// Whether HTTP/2 may be used.
    let allowsHTTP2: Bool
}

/// Why a transfer may not start.
enum OriginRefusal: Sendable, Equatable {
    /// The origin is held, or its breaker is open, for this time.
    case held(for: Duration)
    /// The origin is given up after this failure.
    case down(OriginFailure)

    func error(_ url: SourceURL, _ settings: OriginSettings) -> FetchError {
        switch self {
        case .held(let time):
            let wait = max(time, .milliseconds(1))
            let seconds = wait.components.seconds + (wait.components.attoseconds > 0 ? 1 : 0)
            return FetchError(
                .originHeld, "\(url): not requested, \(url.origin) is held for \(seconds) s", retryAfter: wait)
        case .down(let failure):
            return FetchError(
                failure.code, "\(url): not requested, \(url.origin) is down: \(settings.probes) probes failed in a row",
                httpStatus: failure.httpStatus)
        }
    }
}

/// The failure of the last request to an origin.
package struct OriginFailure: Sendable, Equatable {
    package let code: FetchError.Code
    package let httpStatus: Int?

    package init(code: FetchError.Code, httpStatus: Int?) {
        self.code = code
        self.httpStatus = httpStatus
    }
}

/// A change of an origin's state that is reported to other workers.
package enum OriginChange: Sendable, Equatable {
    /// The origin requested a pause of this length.
    case held(for: Duration)
    /// The breaker has opened for this time; `failedProbes` counts the probes that failed in a row.
    case opened(for: Duration, failedProbes: Int, OriginFailure)
    /// A probe succeeded.
    case closed

    /// Whether it concerns the hold, not the breaker.
    var isHold: Bool { if case .held = self { true } else { false } }
}

/// A held origin as other workers have reported it.
package struct SharedOrigin: Sendable, Equatable {
    package enum Reason: Sendable, Equatable {
        case held
        case breaker(failedProbes: Int, OriginFailure)
    }

    package let origin: Origin
    package let reason: Reason
    /// The rest of the hold; zero or less when a probe is due.
    package let remaining: Duration

    package init(origin: Origin, reason: Reason, remaining: Duration) {
        self.origin = origin
        self.reason = reason
        self.remaining = remaining
    }
}
