package import Concurrency

/// Decides which waiting transfer may start, by total and per-origin limits, breakers, pauses, rates and order.
///
/// A transfer whose origin is at its limit does not delay other origins.
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

    /// How long a request waits for a rate limit before it is refused.
    static let rateWait = Duration.seconds(5)

    let settings: OriginSettings
    private let configuration: FetchConfiguration
    package var faults = OriginFaults()
    package var evidence: LocalEvidence
    private var states: [Origin: OriginState] = [:]
    /// Waiting transfers by origin, in ticket order.
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
    var count: Int { states.count }

    // MARK: - Transfers

    /// Why a transfer to `origin` would be refused now; nil if it may wait or start.
    func refusal(_ origin: Origin, at now: Instant) -> OriginRefusal? {
        states[origin]?.refusal(at: now).flatMap { mayWait($0, since: now) ? nil : $0 }
    }

    /// Adds a waiting transfer, whose ticket is larger than all earlier ones, or refuses it.
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

    /// Removes a waiting transfer; false if it is not waiting.
    mutating func remove(_ ticket: UInt64, _ origin: Origin) -> Bool {
        guard let index = waiting[origin]?.firstIndex(where: { $0.ticket == ticket }) else { return false }
        _ = take(index, origin)
        return true
    }

    /// The next transfer to start or refuse. After `start`, call `end`. Starting a probe may be a change to report.
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

    /// A started transfer has ended; true if there is a change to report.
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

    /// A transfer failed by the HTTP/2 protocol; true if the origin now uses HTTP/1.1.
    mutating func http2Failed(_ permit: OriginPermit, began: Instant, at now: Instant) -> Bool {
        states[permit.origin]?.http2Failed(began: began, at: now) ?? false
    }

    /// Whether a transfer waiting since `since` may wait until the pause ends.
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

    /// Changes since the last call: per origin at most one pause and one breaker.
    package mutating func takeChanges() -> [Origin: [OriginChange]] {
        defer { changes = [:] }
        return changes
    }

    /// Puts back unreported changes, unless newer ones replace them.
    package mutating func putBack(_ older: [Origin: [OriginChange]]) {
        let newer = changes
        changes = older
        note(newer)
    }

    /// Records that changes were reported. `known` then applies to all workers; a breaker not in it is this worker's
    /// alone, as others reach the origin.
    package mutating func shared(
        _ changes: [Origin: [OriginChange]], known: [(origin: Origin, change: OriginChange)]
    ) {
        let open = Set(known.lazy.filter { !$0.change.isHold }.map(\.origin))
        for (origin, changes) in changes {
            for change in changes where change.isHold || open.contains(origin) { states[origin]?.shared(change) }
        }
    }

    /// Adopts the current reports of other workers and ends adopted states that are no longer reported. True if there
    /// is a change to report in answer.
    ///
    /// - Parameter asked: when the query was sent. Remaining times count from there, so that a late answer does not
    ///   move their end past the shared end, when all workers leave the origin to probes.
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

    /// Creates an origin's state. If there are too many, removes unrestricted origins, then the eighth whose
    /// restrictions end first.
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

/// The limits of all origins, shared by the network thread, which starts transfers, and the worker, which exchanges
/// pauses and open breakers.
package final class OriginLimiter: Sendable {
    /// Signalled when `OriginLimits.takeChanges` has changes.
    package let changed = AsyncEvent()
    package let settings: OriginSettings
    package let limits: Locked<OriginLimits>

    init(_ configuration: FetchConfiguration) {
        settings = configuration.origins
        limits = Locked(OriginLimits(configuration))
    }
}
