private import Concurrency

/// The sessions shared by one queue's connections, at most `limit`. They stay open.
///
/// A connection takes a session for one call. If all are in use it waits in turn, heartbeats first. With two or more
/// sessions, long calls leave one to the others. A call that has waited too long interrupts the longest-running call
/// that `CallKind.mayInterrupt` allows: a heartbeat or urgent maintenance after `patience`, others after five times
/// that. Waiting blocks the thread.
final class SessionPool: Sendable {
    /// A session with the call that uses it.
    ///
    /// Protected by the pool: it lends `session` to one connection at a time, and its lock protects the other fields.
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

    enum OpenSession {
        case taken(Entry)
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
        /// Unused sessions; the last one was used last.
        var idle: [Entry] = []
        var lent: [Entry] = []
        /// Calls that are opening a session.
        var opening: [CallKind] = []
        /// Waiting calls in order.
        var waiting: [(ticket: UInt64, kind: CallKind)] = []
        var lastTicket: UInt64 = 0

        mutating func enter(_ kind: CallKind) -> UInt64 {
            lastTicket += 1
            waiting.insert((lastTicket, kind), at: kind == .heartbeat ? 0 : waiting.count)
            return lastTicket
        }

        mutating func leave(_ ticket: UInt64) { waiting.removeAll { $0.ticket == ticket } }

        /// The ticket's next step; nil is to wait.
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

        /// The kind of a waiting call, if a session remains for it after the calls before it.
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

        /// Interrupts the longest-running call that blocks this kind, if it has run for at least `time`; its connection
        /// then closes the session.
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
    ///   - limit: maximum sessions.
    ///   - patience: how long a heartbeat waits before it interrupts another call.
    init(limit: Int, patience: Duration) {
        self.patience = patience
        state = ConditionLock(State(limit: limit))
    }

    /// Waits for an unused session, which may be broken. Nil: the caller must open one.
    ///
    /// The caller then calls `give` or `drop`, and `opened` or `failed` if it had to open one. Throws `.cancelled` if
    /// `end` is reached first; `wake` makes waiting calls check it.
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

    /// Makes waiting calls check whether they have ended.
    func wake() { state.change(wakingAll: true) { _ in } }

    /// An open session, waiting up to `limit`. For a login that may not open another.
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

    /// Adds a session that the caller has opened and is using.
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

    func give(_ entry: Entry) {
        state.change(wakingAll: true) {
            $0.end(entry)
            $0.idle.append(entry)
        }
    }

    /// The caller closes the session that it took.
    func drop(_ entry: Entry) { state.change(wakingAll: true) { $0.end(entry) } }

    /// Open sessions, used and unused.
    var count: Int { state.wait { $0.idle.count + $0.lent.count } }

    var waiting: Int { state.wait { $0.waiting.count } }

    func closeIdle() {
        var closed: [Entry] = []
        state.change(wakingAll: true) {
            closed = $0.idle
            $0.idle = []
        }
        closed.removeAll()
    }
}

/// The purpose of a database call, which decides who waits for a session and whom it may interrupt.
///
/// Only a worker's repeatable calls are interrupted; `other` may be an enqueue by a program that shares the queue.
enum CallKind: Sendable {
    /// Extends a worker's leases, or ends the worker.
    case heartbeat
    /// Maintenance that blocks jobs, such as rescuing a dead worker's jobs.
    case urgent
    case claim
    /// All other calls, such as completions.
    case other
    /// Maintenance that may take long or wait for a lock.
    case long

    /// Whether a call of this kind may interrupt one of `kind` after waiting too long for a session.
    func mayInterrupt(_ kind: CallKind) -> Bool {
        switch self {
        case .heartbeat: kind == .long || kind == .claim || kind == .urgent
        case .urgent: kind == .long || kind == .claim
        case .claim, .other: kind == .long
        case .long: false
        }
    }
}
