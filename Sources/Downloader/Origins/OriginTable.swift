/// The states of the origins met, at most so many. A pure value.
struct OriginTable: Sendable {
    typealias Instant = ContinuousClock.Instant

    private let settings: OriginSettings
    /// What counts against an origin.
    var faults = OriginFaults()
    private var states: [Origin: OriginState] = [:]

    init(_ settings: OriginSettings) { self.settings = settings }

    /// How many are remembered.
    var count: Int { states.count }

    /// A request to `origin` wants to start.
    mutating func ask(_ origin: Origin, at now: Instant) -> OriginState.Answer {
        if states[origin] == nil { makeRoom(at: now) }
        return states[origin, default: OriginState(settings)].ask(at: now)
    }

    /// What keeps requests to `origin` away now.
    func away(_ origin: Origin, at now: Instant) -> OriginState.Answer? { states[origin]?.away(at: now) }

    /// How many more requests could start, nil when nothing limits them.
    func free(_ origin: Origin) -> Int? { states[origin]?.pace.free }

    /// A request has ended.
    mutating func end(_ origin: Origin, _ pass: OriginPermit, _ result: RequestOutcome, at now: Instant)
        -> [OriginChange]
    {
        states[origin]?.end(pass, result, faults, at: now) ?? []
    }

    /// The queue's database knows of a change.
    mutating func shared(_ origin: Origin, _ changes: [OriginChange]) {
        for change in changes { states[origin]?.shared(change) }
    }

    /// All that the queue's database knows now: what is in it holds here too, what is no longer in it no longer does.
    mutating func learn(_ known: [SharedOrigin], at now: Instant) {
        var held: Set<Origin> = []
        var open: Set<Origin> = []
        for item in known.prefix(settings.remembered) {
            if case .held = item.why { held.insert(item.origin) } else { open.insert(item.origin) }
            if states[item.origin] == nil { makeRoom(at: now) }
            states[item.origin, default: OriginState(settings)].learn(item, at: now)
        }
        for origin in states.keys {
            states[origin]?.forget(hold: !held.contains(origin), breaker: !open.contains(origin))
        }
    }

    /// Forgets what says nothing any more; when all of it does, an eighth, of those not busy.
    private mutating func makeRoom(at now: Instant) {
        guard states.count >= settings.remembered else { return }
        states = states.filter { !$0.value.isForgettable(at: now) }
        guard states.count >= settings.remembered else { return }
        for idle in states.filter({ !$0.value.isBusy }).keys.prefix(settings.remembered / 8 + 1) { states[idle] = nil }
    }
}
