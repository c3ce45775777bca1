/// The state of one origin, which decides whether a request may start. Events carry their time.
///
/// Transitions of the breaker:
/// - closed(n) → closed(n + 1) at a counted failure; → open at number `OriginSettings.failures` in a row
/// - closed(n) → closed(0) at a success
/// - open → probing when a request starts after its time is over
/// - probing → closed(0) when the probe succeeds
/// - probing → open when it fails, with `failedProbes` + 1; open with its time over when it is cancelled
/// - closed, open → open when another worker reports an open breaker; closed stays within `successWindow` of a success
/// - open → closed(0) when a reported open breaker is no longer reported before its end
/// - open, probing → closed(0) when an earlier request succeeds
///
/// After `OriginSettings.probes` failed probes the origin is given up: only `closed` is reported.
///
/// Otherwise requests that began before the last change to or from open change nothing (`epoch`).
struct OriginState: Sendable, Equatable {
    typealias Instant = ContinuousClock.Instant

    enum Answer: Sendable, Equatable {
        case ready
        /// The concurrency limit is reached until a request ends.
        case full
        /// The rate allows the next request then.
        case wait(until: Instant)
        case refused(OriginRefusal)
    }

    private enum Breaker: Sendable, Equatable {
        case closed(failures: Int)
        case open(until: Instant, failedProbes: Int)
        case probing(failedProbes: Int)
    }

    /// How long requests are paused while a probe runs, before they are checked again.
    static let probePause = Duration.seconds(1)
    /// Pause after 429 without `Retry-After`: doubles from the lower to the upper bound until a request succeeds.
    static let overloadHolds: ClosedRange<Duration> = .seconds(1)...(.seconds(60))

    /// Within this time of a response, a worker does not adopt an open breaker, even after failures.
    static let successWindow = Duration.seconds(60)
    /// Allowed delay of a shared breaker's end, compared with the database.
    static let endSlack = Duration.seconds(1)

    let origin: Origin
    private let settings: OriginSettings
    private let connections, streams: Int
    private(set) var running = 0
    private(set) var concurrency: AdaptiveConcurrency
    var rate: RequestRate
    private var http2 = HTTP2Fallback()
    /// Whether the last response used HTTP/2, where transfers share a connection.
    private var isMultiplexed = false
    private var breaker = Breaker.closed(failures: 0)
    private var hold: Instant?
    /// Pauses for 429 without `Retry-After` since the last success, and when the last one began.
    private var overloads = 0
    private var overloadedAt: Instant?
    private var failure = OriginFailure(code: .cannotConnect, httpStatus: nil)
    /// Whether it was reported to other workers; it then ends when they no longer report it.
    private var holdIsShared = false
    private var breakerIsShared = false
    private var epoch = 0
    private var succeededAt: Instant?

    init(_ origin: Origin, _ configuration: FetchConfiguration) {
        self.origin = origin
        settings = configuration.origins
        let host = configuration.hosts[origin.host]
        connections = host?.connections ?? configuration.transfersPerOrigin
        streams = host?.streams ?? configuration.streamsPerOrigin
        concurrency = AdaptiveConcurrency(maximum: connections, isEnabled: configuration.origins.adaptsConcurrency)
        rate = RequestRate(perSecond: host?.rate ?? configuration.origins.rate)
    }

    // MARK: - Requests

    func answer(at now: Instant) -> Answer {
        if let refusal = refusal(at: now) { return .refused(refusal) }
        if running >= (isMultiplexed ? streams : connections) { return .full }
        if case .open = breaker { return .ready }
        if let limit = concurrency.limit, running >= Int(limit) { return .full }
        if let start = rate.nextStart, start > now { return .wait(until: start) }
        return .ready
    }

    /// Why no request may start now; nil if the limits allow one.
    func refusal(at now: Instant) -> OriginRefusal? {
        if let hold, now < hold { return .held(until: hold) }
        switch breaker {
        case .open(let until, let failed) where now < until:
            return settings.givesUp(after: failed) ? .down(failure) : .held(until: until)
        case .probing(let failed):
            return settings.givesUp(after: failed) ? .down(failure) : .held(until: now + Self.probePause)
        case .open, .closed: return nil
        }
    }

    /// Starts a request after the answer `ready`. Its outcome must be passed to `end`.
    ///
    /// Reports that a probe has begun: this pauses the origin's other jobs, which would otherwise be claimed and
    /// returned repeatedly.
    mutating func start(at now: Instant) -> (permit: OriginPermit, change: OriginChange?) {
        var change: OriginChange?
        var isProbe = false
        if case .open(_, let failed) = breaker {
            breaker = .probing(failedProbes: failed)
            epoch += 1
            isProbe = true
            change = opening(failedProbes: failed)
        }
        running += 1
        rate.start(at: now)
        let permit = OriginPermit(
            origin: origin, started: now, isProbe: isProbe, epoch: epoch, allowsHTTP2: !http2.isAvoided(at: now))
        return (permit, change)
    }

    /// A request has ended. Returns the changes to report.
    mutating func end(
        _ permit: OriginPermit, _ outcome: RequestOutcome, _ faults: OriginFaults, at now: Instant
    ) -> [OriginChange] {
        running -= 1
        let effect = Effect(outcome, faults)
        concurrency.end(outcome, isGood: effect == .success, started: permit.started, at: now)
        var changes: [OriginChange] = []
        if effect == .success { succeededAt = now }
        if permit.epoch == epoch || effect == .success, let change = moveBreaker(outcome, effect, at: now) {
            changes.append(change)
        }
        if effect == .success, !outcome.isOverload, permit.started >= overloadedAt ?? permit.started { overloads = 0 }
        if let wait = outcome.hold ?? overloadHold(outcome, permit, at: now), wait > .zero {
            let until = now + min(wait, settings.longestHold)
            if hold.map({ $0 < until }) ?? true {
                hold = until
                holdIsShared = false
                changes.append(.held(for: until - now))
            }
        }
        return changes
    }

    /// Pause after 429 without `Retry-After`. Requests that began before the last such pause add none.
    private mutating func overloadHold(_ outcome: RequestOutcome, _ permit: OriginPermit, at now: Instant) -> Duration?
    {
        guard case .answered(429, nil, _) = outcome, permit.started >= overloadedAt ?? permit.started else {
            return nil
        }
        let wait = min(Self.overloadHolds.lowerBound * Double(1 << min(overloads, 10)), Self.overloadHolds.upperBound)
        overloads += 1
        overloadedAt = now
        return wait
    }

    /// An outcome's effect on the breaker.
    private enum Effect: Sendable, Equatable {
        case success, failure
        /// `neutral`: a failure that does not count. `none`: no outcome.
        case neutral, none

        init(_ outcome: RequestOutcome, _ faults: OriginFaults) {
            self =
                switch outcome {
                case _ where faults.counts(outcome): .failure
                case .answered: .success
                case .failed: .neutral
                case .unknown: .none
                }
        }
    }

    private mutating func moveBreaker(_ outcome: RequestOutcome, _ effect: Effect, at now: Instant) -> OriginChange? {
        if case .answered(let status, _, _) = outcome, effect == .failure {
            failure = OriginFailure(code: .badStatus, httpStatus: status)
        } else if case .failed(let code) = outcome {
            failure = OriginFailure(code: code, httpStatus: nil)
        }
        switch (breaker, effect) {
        case (.closed, .success):
            breaker = .closed(failures: 0)
        case (.closed(let failures), .failure):
            if failures + 1 >= settings.failures { return open(failedProbes: 0, at: now) }
            breaker = .closed(failures: failures + 1)
        case (.open, .success), (.probing, .success):
            breaker = .closed(failures: 0)
            breakerIsShared = false
            epoch += 1
            return .closed
        case (.closed, _), (.open, _):
            break
        case (.probing(let failed), .failure), (.probing(let failed), .neutral):
            return open(failedProbes: failed + 1, at: now)
        case (.probing(let failed), .none):
            breaker = .open(until: now, failedProbes: failed)
            breakerIsShared = false
        }
        return nil
    }

    private mutating func open(failedProbes: Int, at now: Instant) -> OriginChange? {
        breaker = .open(until: now + settings.open, failedProbes: failedProbes)
        breakerIsShared = false
        epoch += 1
        return opening(failedProbes: failedProbes)
    }

    /// The report of an open breaker; nil if the origin is given up, so that its jobs are claimed.
    private func opening(failedProbes: Int) -> OriginChange? {
        settings.givesUp(after: failedProbes) ? nil : .opened(for: settings.open, failure)
    }

    // MARK: - HTTP/2

    mutating func http2Succeeded(began: Instant) {
        isMultiplexed = true
        http2.succeed(began: began)
    }

    /// A transfer failed by the HTTP/2 protocol; true if HTTP/2 is now avoided.
    mutating func http2Failed(began: Instant, at now: Instant) -> Bool {
        http2.fail(began: began, at: now)
        let isAvoided = http2.isAvoided(at: now)
        if isAvoided { isMultiplexed = false }
        return isAvoided
    }

    /// No transfer runs or waits. The next one may close the shared connection.
    mutating func becomeIdle() { isMultiplexed = false }

    // MARK: - Other workers

    /// A change that `end` returned was reported.
    mutating func shared(_ change: OriginChange) {
        switch change {
        case .held: holdIsShared = true
        case .opened: breakerIsShared = true
        case .closed: break
        }
    }

    /// Adopts a report of another worker or an operator. Returns a change to report in answer.
    mutating func adopt(_ change: OriginChange, at now: Instant) -> OriginChange? {
        switch change {
        case .held(let remaining):
            let until = now + min(remaining, settings.longestHold)
            // A local, unreported pause is newer.
            if !holdIsShared, let hold, hold > until { return nil }
            hold = until
            holdIsShared = true
        case .opened(let remaining, let cause):
            let until = now + min(remaining, settings.longestHold)
            var failedProbes = 0
            switch breaker {
            case .probing: return nil
            case .open where !breakerIsShared: return nil
            case .open(let end, let failed):
                // Another worker has probed at the end.
                failedProbes = end <= now + Self.endSlack && until > end + Self.endSlack ? failed + 1 : failed
            // The origin responds to this worker: the fault is elsewhere.
            case .closed where succeededAt.map { now - $0 < Self.successWindow } ?? false: return .closed
            case .closed: epoch += 1
            }
            breaker = .open(until: until, failedProbes: failedProbes)
            breakerIsShared = true
            failure = cause
        case .closed: break
        }
        return nil
    }

    /// Ends a reported pause or breaker that is no longer reported. A breaker past its time stays for a probe.
    mutating func withdraw(hold endsHold: Bool, breaker endsBreaker: Bool, at now: Instant) {
        if endsHold && holdIsShared {
            hold = nil
            holdIsShared = false
        }
        if endsBreaker && breakerIsShared, case .open(let until, _) = breaker, until > now + Self.endSlack {
            breaker = .closed(failures: 0)
            breakerIsShared = false
            epoch += 1
        }
    }

    /// When its pause and open breaker have ended; `now` if it has neither and equals a new state.
    func restricted(until now: Instant) -> Instant {
        var end = max(now, hold ?? now)
        if case .open(let until, _) = breaker { end = max(end, until) }
        return end
    }

    func isForgettable(at now: Instant) -> Bool {
        running == 0 && concurrency.limit == nil && rate.isForgettable(at: now) && http2.isForgettable(at: now)
            && (hold.map { $0 <= now } ?? true) && overloads == 0 && breaker == .closed(failures: 0)
    }
}
