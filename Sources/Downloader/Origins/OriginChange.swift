/// Permission for one transfer. `OriginState` uses its fields to judge the transfer's outcome.
package struct OriginPermit: Sendable, Equatable {
    let origin: Origin
    let started: ContinuousClock.Instant
    /// Whether it is the probe of an open breaker.
    let isProbe: Bool
    /// The breaker's period in which it started.
    let epoch: Int
    let allowsHTTP2: Bool
}

enum OriginRefusal: Sendable, Equatable {
    /// The origin is paused, or its breaker is open.
    case held(until: ContinuousClock.Instant)
    /// The origin is given up after this failure.
    case down(OriginFailure)

    func error(_ url: SourceURL, _ settings: OriginSettings, at now: ContinuousClock.Instant = .now) -> FetchError {
        switch self {
        case .held(let until):
            let wait = max(until - now, .milliseconds(1))
            let seconds = wait.components.seconds + (wait.components.attoseconds > 0 ? 1 : 0)
            return FetchError(
                .originHeld, "\(url): not requested, \(url.origin) is held for \(seconds) s", retryAfter: wait)
        case .down(let failure):
            return FetchError(
                failure.code,
                "\(url): not requested, \(url.origin) is down: \(settings.probes ?? 0) probes failed in a row",
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

/// A change of an origin's state, exchanged between workers. A duration may be zero or negative if it ended on the way.
package enum OriginChange: Sendable, Equatable {
    /// The origin requested this pause.
    case held(for: Duration)
    /// The breaker has opened for this time after this failure, or its probe has begun.
    case opened(for: Duration, OriginFailure)
    /// A probe succeeded.
    case closed

    /// Whether it concerns the pause, not the breaker.
    var isHold: Bool { if case .held = self { true } else { false } }
}
