package import Concurrency

/// Which waiting transfer may start: the limits in all and per origin, breakers, holds, rates and the order. A pure
/// value.
///
/// A transfer whose origin may not receive another request does not delay the transfers of other origins.
package struct OriginLimits: Sendable {
    typealias Instant = ContinuousClock.Instant

    enum Decision: Sendable, Equatable {
        case start(UInt64, OriginPermit)
        case refuse(UInt64, OriginRefusal)
        /// Nothing may start before a transfer ends, or this time.
        case wait(until: Instant?)
    }

    private struct Waiting: Sendable {
        let ticket: UInt64
        let priority: FetchPriority
        let since: Instant
    }

    /// A request waits at least this long for its turn under a rate limit before it is refused.
    static let rateWait = Duration.seconds(5)

    let settings: OriginSettings
    private let configuration: FetchConfiguration
    /// Which failures count against an origin.
    package var faults = OriginFaults()
    /// Which failures are this machine's.
    package var evidence: LocalEvidence
    private var states: [Origin: OriginState] = [:]
    /// Waiting transfers of each origin, in the order of their tickets.
    private var waiting: [Origin: [Waiting]] = [:]
    private var running = 0
    private(set) var changes: [Origin: [OriginChange]] = [:]

    init(_ configuration: FetchConfiguration) {
        precondition(
            configuration.transfers > 0 && configuration.transfersPerOrigin > 0 && configuration.streamsPerOrigin > 0,
            "a limit of transfers is at least 1")
        self.configuration = configuration
        settings = configuration.origins
        evidence = LocalEvidence(
            authorities: configuration.authorities ?? CertificateAuthorities.systemPath ?? "")
    }

    var waitingCount: Int { waiting.values.reduce(0) { $0 + $1.count } }
    /// How many origins are remembered.
    var count: Int { states.count }

    // MARK: - Transfers

    /// Why a transfer to `origin` would be refused now; nil when it may wait or start.
    func refusal(_ origin: Origin, at now: Instant) -> OriginRefusal? {
        states[origin]?.refusal(at: now).flatMap { mayWait($0, since: now) ? nil : $0 }
    }

    /// The transfer `ticket`, larger than all before, waits to start; or it is refused.
    mutating func enqueue(
        _ ticket: UInt64, _ origin: Origin, _ priority: FetchPriority = .normal, at now: Instant
    ) -> OriginRefusal? {
        let limit = max(Self.rateWait, settings.maxWait)
        let behind = waiting[origin]?.count ?? 0
        remember(origin, at: now)
        if let back = states[origin]?.rate.returnTime(behind: behind, limit: limit, at: now) {
            return .held(until: back)
        }
        waiting[origin, default: []].append(Waiting(ticket: ticket, priority: priority, since: now))
        return nil
    }

    /// Removes a waiting transfer; false when it does not wait.
    mutating func remove(_ ticket: UInt64, _ origin: Origin) -> Bool {
        guard let index = waiting[origin]?.firstIndex(where: { $0.ticket == ticket }) else { return false }
        _ = take(index, origin)
        return true
    }

    /// The next transfer to start or to refuse. After `start` the transfer must `end`. The start of a probe may be a
    /// change to report.
    mutating func next(at now: Instant) -> Decision {
        var best: (origin: Origin, index: Int, waiting: Waiting)?
        var due: Instant?
        func note(_ time: Instant) { due = due.map { min($0, time) } ?? time }
        for (origin, queue) in waiting {
            guard let answer = states[origin]?.answer(at: now) else { continue }
            switch answer {
            case .full: continue
            case .wait(let until): note(until)
            case .refused(let refusal):
                if let index = queue.firstIndex(where: { !mayWait(refusal, since: $0.since) }) {
                    return .refuse(take(index, origin), refusal)
                }
                if case .held(let until) = refusal { note(until) }
            case .ready:
                guard let index = nextIndex(queue) else { continue }
                if best.map({ precedes(queue[index], $0.waiting) }) ?? true { best = (origin, index, queue[index]) }
            }
        }
        guard running < configuration.transfers, let best, let start = states[best.origin]?.start(at: now) else {
            return .wait(until: due)
        }
        running += 1
        if let change = start.change { self.note([best.origin: [change]]) }
        return .start(take(best.index, best.origin), start.permit)
    }

    /// A started transfer has ended; true when there is a change to report.
    @discardableResult
    mutating func end(_ permit: OriginPermit, _ outcome: RequestOutcome, at now: Instant) -> Bool {
        running -= 1
        if case .answered = outcome { evidence.answered(permit.origin) }
        let newer = states[permit.origin]?.end(permit, outcome, faults, at: now) ?? []
        note([permit.origin: newer])
        if waiting[permit.origin] == nil, states[permit.origin]?.running == 0 { states[permit.origin]?.becomeIdle() }
        return !newer.isEmpty
    }

    mutating func http2Succeeded(_ permit: OriginPermit, began: Instant) {
        states[permit.origin]?.http2Succeeded(began: began)
    }

    /// A transfer's try over HTTP/2 failed by the protocol; true when the origin is now requested over HTTP/1.1.
    mutating func http2Failed(_ permit: OriginPermit, began: Instant, at now: Instant) -> Bool {
        states[permit.origin]?.http2Failed(began: began, at: now) ?? false
    }

    /// Whether a transfer that waits since `since` may wait for the end of a hold.
    private func mayWait(_ refusal: OriginRefusal, since: Instant) -> Bool {
        if case .held(let until) = refusal { until - since <= settings.maxWait } else { false }
    }

    private mutating func take(_ index: Int, _ origin: Origin) -> UInt64 {
        let ticket = waiting[origin, default: []].remove(at: index).ticket
        if waiting[origin]?.isEmpty == true { waiting[origin] = nil }
        return ticket
    }

    private func nextIndex(_ queue: [Waiting]) -> Int? {
        switch configuration.order {
        case .lifo: queue.indices.last
        // `max` returns the first of equal elements.
        case .fifo: queue.indices.max { queue[$0].priority < queue[$1].priority }
        }
    }

    private func precedes(_ a: Waiting, _ b: Waiting) -> Bool {
        switch configuration.order {
        case .lifo: a.ticket > b.ticket
        case .fifo: a.priority == b.priority ? a.ticket < b.ticket : a.priority > b.priority
        }
    }

    // MARK: - Other workers

    /// The changes since the last call, for each origin at most one of its hold and one of its breaker.
    package mutating func takeChanges() -> [Origin: [OriginChange]] {
        defer { changes = [:] }
        return changes
    }

    /// Puts back changes that could not be reported; newer ones replace them.
    package mutating func putBack(_ older: [Origin: [OriginChange]]) {
        let newer = changes
        changes = older
        note(newer)
    }

    /// These changes were reported, after which `known` applies to all workers. A breaker that is not among them is
    /// this worker's alone: others reach the origin.
    package mutating func shared(
        _ changes: [Origin: [OriginChange]], known: [(origin: Origin, change: OriginChange)]
    ) {
        let open = Set(known.lazy.filter { !$0.change.isHold }.map(\.origin))
        for (origin, changes) in changes {
            for change in changes where change.isHold || open.contains(origin) { states[origin]?.shared(change) }
        }
    }

    /// Adopts everything that other workers report now; what they no longer report ends here as well. True when there
    /// is a change to report in answer.
    ///
    /// - Parameter asked: when the report was asked for. The remaining times count from there: a late answer must not
    ///   move their end behind the common one, after which every worker leaves the origin to probes.
    @discardableResult
    package mutating func adopt(
        _ known: [(origin: Origin, change: OriginChange)], asked: ContinuousClock.Instant? = nil,
        at now: ContinuousClock.Instant = .now
    ) -> Bool {
        var answers: [Origin: [OriginChange]] = [:]
        var held: Set<Origin> = []
        var open: Set<Origin> = []
        for (origin, change) in known.prefix(settings.remembered) {
            if change.isHold { held.insert(origin) } else { open.insert(origin) }
            remember(origin, at: now)
            if let answer = states[origin]?.adopt(change, at: asked ?? now) { answers[origin] = [answer] }
        }
        note(answers)
        for origin in states.keys {
            states[origin]?.withdraw(hold: !held.contains(origin), breaker: !open.contains(origin), at: now)
        }
        return !answers.isEmpty
    }

    /// Creates the state of an origin. When there are too many, those that restrict nothing are removed, then an
    /// eighth: those whose restriction ends first.
    private mutating func remember(_ origin: Origin, at now: Instant) {
        guard states[origin] == nil else { return }
        if states.count >= settings.remembered {
            let idle = states.filter { $0.value.running == 0 && waiting[$0.key] == nil }
            for (origin, state) in idle where state.isForgettable(at: now) { states[origin] = nil }
            if states.count >= settings.remembered {
                let soonest = idle.sorted { $0.value.restricted(until: now) < $1.value.restricted(until: now) }
                for (origin, _) in soonest.prefix(settings.remembered / 8 + 1) { states[origin] = nil }
            }
        }
        states[origin] = OriginState(origin, configuration)
    }

    private mutating func note(_ newer: [Origin: [OriginChange]]) {
        for (origin, newer) in newer where !newer.isEmpty {
            let kept = (changes[origin] ?? []).filter { old in !newer.contains { $0.isHold == old.isHold } }
            changes[origin] = kept + newer
        }
    }
}

/// The limits of all origins, shared by the network thread, which starts transfers by them, and by a worker, which
/// exchanges holds and open breakers with other workers.
package final class OriginLimiter: Sendable {
    /// Signalled when `OriginLimits.takeChanges` has something to return.
    package let changed = AsyncEvent()
    package let settings: OriginSettings
    package let limits: Locked<OriginLimits>

    init(_ configuration: FetchConfiguration) {
        settings = configuration.origins
        limits = Locked(OriginLimits(configuration))
    }
}
