/// What is known of one origin and what follows from it. A pure value: events come in with the time they happened at.
///
/// Two things keep requests away: a hold, until a time that the origin, an operator or another worker named; and the
/// breaker, which opens after failures in a row and lets one probe through when its time is over.
struct OriginState: Sendable, Equatable {
    typealias Instant = ContinuousClock.Instant

    /// What a request that wants to start is told.
    enum Answer: Sendable, Equatable {
        /// Start at this time, now or soon, if nothing keeps requests away then.
        case go(OriginPermit, at: Instant)
        /// Ask again when another request has ended.
        case full
        /// Keep away until then.
        case held(until: Instant)
        /// Given up: fail as the last request did.
        case down(OriginFailure)
    }

    private enum Breaker: Sendable, Equatable {
        case closed(failures: Int)
        case open(until: Instant, failedProbes: Int)
        case probing(failedProbes: Int)
    }

    /// Who waits behind a probe looks again so much later.
    static let probePause = Duration.seconds(1)

    let settings: OriginSettings
    private(set) var pace: AdaptiveConcurrency
    private var breaker = Breaker.closed(failures: 0)
    private var hold: Instant?
    private var trouble = OriginFailure(code: .cannotConnect, httpStatus: nil)
    /// Whether other workers know of it, so that it ends when they say so.
    private var holdIsShared = false
    private var breakerIsShared = false
    /// Counts what the breaker went through: results of requests from before say nothing any more.
    private var epoch = 0

    init(_ settings: OriginSettings) {
        self.settings = settings
        pace = AdaptiveConcurrency(settings)
    }

    // MARK: - Requests

    /// A request wants to start. After `go` its result must be told by `end`.
    mutating func ask(at now: Instant) -> Answer {
        if let away = away(at: now) { return away }
        if case .open(_, let failed) = breaker {
            breaker = .probing(failedProbes: failed)
            epoch += 1
            pace.start()
            return .go(OriginPermit(started: now, isProbe: true, epoch: epoch), at: now)
        }
        switch pace.ask(at: now) {
        case .go(let turn): return .go(OriginPermit(started: turn, isProbe: false, epoch: epoch), at: turn)
        case .full: return .full
        case .later(let turn): return .held(until: turn)
        }
    }

    /// What keeps requests away now, if anything: `held` or `down`.
    func away(at now: Instant) -> Answer? {
        if let hold, now < hold { return .held(until: hold) }
        switch breaker {
        case .open(let until, let failed) where now < until:
            return failed >= settings.probes ? .down(trouble) : .held(until: until)
        case .probing(let failed):
            return failed >= settings.probes ? .down(trouble) : .held(until: now + Self.probePause)
        case .open, .closed: return nil
        }
    }

    /// A request that was let go has ended. Answers what others should hear of.
    mutating func end(
        _ pass: OriginPermit, _ result: RequestOutcome, _ faults: OriginFaults, at now: Instant
    ) -> [OriginChange] {
        let meaning = result.meaning(faults)
        pace.end(pass, result, isGood: meaning == .good, at: now)
        var changes: [OriginChange] = []
        if let change = judge(pass, result, meaning, at: now) { changes.append(change) }
        if let wait = result.hold, wait > .zero {
            let until = now + min(wait, settings.longestHold)
            if hold.map({ $0 < until }) ?? true {
                hold = until
                holdIsShared = false
                changes.append(.held(for: until - now))
            }
        }
        return changes
    }

    private mutating func judge(
        _ pass: OriginPermit, _ result: RequestOutcome, _ meaning: RequestOutcome.Meaning, at now: Instant
    ) -> OriginChange? {
        guard pass.epoch == epoch else { return nil }
        if case .answered(let status, _, _) = result, meaning == .bad {
            trouble = OriginFailure(code: .badStatus, httpStatus: status)
        } else if case .failed(let code) = result {
            trouble = OriginFailure(code: code, httpStatus: nil)
        }
        switch (breaker, meaning) {
        case (.closed, .good):
            breaker = .closed(failures: 0)
        case (.closed(let failures), .bad):
            if failures + 1 >= settings.failures { return open(failedProbes: 0, at: now) }
            breaker = .closed(failures: failures + 1)
        case (.closed, _), (.open, _):
            break
        case (.probing, .good):
            breaker = .closed(failures: 0)
            breakerIsShared = false
            return .closed
        case (.probing(let failed), .bad), (.probing(let failed), .neither):
            return open(failedProbes: failed + 1, at: now)
        case (.probing(let failed), .nothing):
            // The probe was called off: the next one may go at once.
            breaker = .open(until: now, failedProbes: failed)
        }
        return nil
    }

    private mutating func open(failedProbes: Int, at now: Instant) -> OriginChange {
        breaker = .open(until: now + settings.open, failedProbes: failedProbes)
        breakerIsShared = false
        epoch += 1
        return .opened(for: settings.open, failedProbes: failedProbes, trouble)
    }

    // MARK: - Other workers

    /// The queue's database knows of the change that `end` answered.
    mutating func shared(_ change: OriginChange) {
        switch change {
        case .held: holdIsShared = true
        case .opened: breakerIsShared = true
        case .closed: break
        }
    }

    /// What another worker, or an operator, has said of this origin.
    mutating func learn(_ known: SharedOrigin, at now: Instant) {
        switch known.why {
        case .held:
            let until = now + min(known.remaining, settings.longestHold)
            // What was found here and is not told yet is newer.
            if !holdIsShared, let hold, hold > until { return }
            hold = until
            holdIsShared = true
        case .breaker(let failedProbes, let cause):
            switch breaker {
            case .probing: return
            case .open where !breakerIsShared: return
            case .open: break
            case .closed: epoch += 1
            }
            breaker = .open(until: now + min(known.remaining, settings.longestHold), failedProbes: failedProbes)
            breakerIsShared = true
            trouble = cause
        }
    }

    /// The others no longer know of a hold: `clear`ed, or closed by somebody's probe.
    mutating func forget(hold forgetsHold: Bool, breaker forgetsBreaker: Bool) {
        if forgetsHold && holdIsShared {
            hold = nil
            holdIsShared = false
        }
        if forgetsBreaker && breakerIsShared, case .open = breaker {
            breaker = .closed(failures: 0)
            breakerIsShared = false
            epoch += 1
        }
    }

    /// Whether nothing would be lost with this value.
    func isForgettable(at now: Instant) -> Bool {
        guard pace.isForgettable(at: now), hold.map({ $0 <= now }) ?? true else { return false }
        return breaker == .closed(failures: 0)
    }

    /// Whether a request is under way, so that its end will be told.
    var isBusy: Bool { pace.inFlight > 0 }
}
