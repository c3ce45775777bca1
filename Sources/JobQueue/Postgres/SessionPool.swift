private import Concurrency

/// The sessions that the connections of one queue share, `limit` at most. They stay open.
///
/// A connection uses a session for one call. When all are in use, it waits in turn, heartbeats first. Where there are
/// two sessions or more, long calls leave one of them to the others. A call that has waited too long interrupts one
/// that `CallKind.mayInterrupt` names, the longest under way: a heartbeat or urgent maintenance after `patience`,
/// others after five times that. Waiting blocks the thread.
final class SessionPool: Sendable {
    /// A session with the call that uses it.
    ///
    /// Protected by the pool: `session` by lending it to one connection at a time, the others by its lock.
    final class Entry: @unchecked Sendable {
        var session: Session
        fileprivate let interruption: CallDeadline
        fileprivate var kind: CallKind
        fileprivate var since = ContinuousClock.now

        init(_ session: consuming Session, kind: CallKind) {
            interruption = session.interruption
            self.session = session
            self.kind = kind
        }
    }

    /// What `takeOpen` found.
    enum OpenSession {
        case taken(Entry)
        /// Others use all of them.
        case inUse
        case none
    }

    private enum Turn: Sendable {
        case use(Entry)
        case open
        case nothing
        /// The call has ended meanwhile.
        case ended
    }

    private struct State: Sendable {
        let limit: Int
        /// Those that are not in use, the one used last at the end.
        var idle: [Entry] = []
        var lent: [Entry] = []
        /// The calls that open a session.
        var opening: [CallKind] = []
        /// The calls that wait, the first one first.
        var waiting: [(ticket: UInt64, kind: CallKind)] = []
        var lastTicket: UInt64 = 0

        mutating func enter(_ kind: CallKind) -> UInt64 {
            lastTicket += 1
            waiting.insert((lastTicket, kind), at: kind == .heartbeat ? 0 : waiting.count)
            return lastTicket
        }

        mutating func leave(_ ticket: UInt64) { waiting.removeAll { $0.ticket == ticket } }

        /// What the holder of a ticket may do now; nil is to wait.
        mutating func turn(_ ticket: UInt64, onlyOpen: Bool) -> Turn? {
            if onlyOpen && idle.isEmpty && lent.isEmpty {
                leave(ticket)
                return .nothing
            }
            guard let kind = turnKind(ticket, onlyOpen: onlyOpen) else { return nil }
            leave(ticket)
            guard let entry = idle.popLast() else {
                opening.append(kind)
                return .open
            }
            entry.kind = kind
            entry.since = .now
            entry.interruption.set(nil)
            lent.append(entry)
            return .use(entry)
        }

        /// The kind of a waiting call for which a session is left after the calls before it have theirs.
        private func turnKind(_ ticket: UInt64, onlyOpen: Bool) -> CallKind? {
            let used = lent.count + opening.count
            var left = onlyOpen ? idle.count : max(idle.count, limit - used)
            let longUsed = lent.count { $0.kind == .long } + opening.count { $0 == .long }
            var longLeft = max(1, limit - 1) - longUsed
            for call in waiting where left > 0 {
                if call.kind == .long {
                    guard longLeft > 0 else { continue }
                    longLeft -= 1
                }
                if call.ticket == ticket { return call.kind }
                left -= 1
            }
            return nil
        }

        /// Ends the call that blocks one of this kind, the longest under way and for at least `time`; its connection then
        /// closes the session.
        mutating func interrupt(for kind: CallKind, underWay time: Duration) {
            let now = ContinuousClock.now
            lent.filter { kind.mayInterrupt($0.kind) && !$0.interruption.isReached && now - $0.since >= time }
                .min { $0.since < $1.since }?.interruption.set(.now)
        }

        mutating func end(_ entry: Entry) { lent.removeAll { $0 === entry } }

        mutating func endOpening(_ kind: CallKind) {
            if let index = opening.firstIndex(of: kind) { opening.remove(at: index) }
        }
    }

    private let patience: Duration
    private let state: ConditionLock<State>

    /// A pool without sessions.
    ///
    /// - Parameters:
    ///   - limit: how many sessions it has at most.
    ///   - patience: how long a heartbeat waits before it interrupts another call.
    init(limit: Int, patience: Duration) {
        self.patience = patience
        state = ConditionLock(State(limit: limit))
    }

    /// A session that is not in use, as soon as there is one; it may be broken. Nil: the caller is to open one.
    ///
    /// The caller calls `give` or `drop` afterwards, and `opened` or `failed` when it was to open one. Throws `.cancelled`
    /// when the time of `end` itself is reached first; `wake` makes that noticed at once.
    func take(_ kind: CallKind, _ end: CallDeadline? = nil) throws(QueueError) -> Entry? {
        var ticket: UInt64?
        func next(_ state: inout State) -> sending Turn? {
            let own = ticket ?? state.enter(kind)
            ticket = own
            if end?.isOwnReached ?? false {
                state.leave(own)
                return .ended
            }
            return state.turn(own, onlyOpen: false)
        }
        let time = kind == .heartbeat || kind == .urgent ? patience : patience * 5
        while true {
            switch state.wait(atMost: time, for: next) {
            case .use(let entry): return entry
            case .open, .nothing: return nil
            case .ended: throw CallCancellation.error
            case nil: state.change { $0.interrupt(for: kind, underWay: patience) }
            }
        }
    }

    /// Makes waiting calls notice that they have ended.
    func wake() { state.change(wakingAll: true) { _ in } }

    /// A session that is open, at once or within `limit`. For a login that may not open another.
    func takeOpen(_ kind: CallKind, within limit: Duration) -> OpenSession {
        var ticket: UInt64?
        let turn = state.wait(atMost: limit) { state -> Turn? in
            let own = ticket ?? state.enter(kind)
            ticket = own
            return state.turn(own, onlyOpen: true)
        }
        switch turn {
        case .use(let entry): return .taken(entry)
        case .open, .nothing, .ended: return .none
        case nil:
            state.change(wakingAll: true) {
                if let ticket { $0.leave(ticket) }
                $0.interrupt(for: kind, underWay: patience)
            }
            return .inUse
        }
    }

    /// Adds a session that the caller has opened and uses.
    func opened(_ session: consuming Session, _ kind: CallKind) -> Entry {
        let entry = Entry(session, kind: kind)
        state.change {
            $0.endOpening(kind)
            $0.lent.append(entry)
        }
        return entry
    }

    /// No session could be opened.
    func failed(_ kind: CallKind) { state.change(wakingAll: true) { $0.endOpening(kind) } }

    /// Returns a session that can be used again.
    func give(_ entry: Entry) {
        state.change(wakingAll: true) {
            $0.end(entry)
            $0.idle.append(entry)
        }
    }

    /// The caller closes a session that it has taken.
    func drop(_ entry: Entry) { state.change(wakingAll: true) { $0.end(entry) } }

    /// Sessions that are open, in use or not.
    var count: Int { state.wait { $0.idle.count + $0.lent.count } }

    /// Calls that wait for a session.
    var waiting: Int { state.wait { $0.waiting.count } }

    /// Closes the sessions that are not in use.
    func closeIdle() {
        var closed: [Entry] = []
        state.change(wakingAll: true) {
            closed = $0.idle
            $0.idle = []
        }
        closed.removeAll()
    }
}

/// What a call to the database is for. It decides which calls wait for a session, and for which one.
///
/// Of the calls of a worker only those that can be repeated are interrupted; a call of `other` may be the enqueue of a
/// program that shares the queue.
enum CallKind: Sendable {
    /// Extends the leases of all jobs of a worker, or ends it.
    case heartbeat
    /// Maintenance for which jobs wait, such as the rescue of a dead worker's jobs.
    case urgent
    case claim
    /// All other calls, such as completions.
    case other
    /// Maintenance that may take long or wait for a lock.
    case long

    /// Whether a call of this kind ends one of `kind` when it has waited too long for a session.
    func mayInterrupt(_ kind: CallKind) -> Bool {
        switch self {
        case .heartbeat: kind == .long || kind == .claim || kind == .urgent
        case .urgent: kind == .long || kind == .claim
        case .claim, .other: kind == .long
        case .long: false
        }
    }
}
