private import Concurrency

/// The sessions that the connections of one queue share; `kept` of them stay open.
///
/// A connection uses a session for one call. When all are in use, it waits in turn; one that may not wait for a long
/// statement of another opens a further session after its `maxWait`. Further sessions are closed when they have not
/// been used for a second. Waiting blocks the thread.
final class SessionPool: Sendable {
    /// A session with the time of its last use.
    ///
    /// Protected by the pool, which lends it to one connection at a time.
    final class Entry: @unchecked Sendable {
        var session: Session
        fileprivate var usedAt = ContinuousClock.now

        init(_ session: consuming Session) { self.session = session }
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
    }

    private struct State: Sendable {
        let kept: Int
        /// Those that are not in use, the longest unused first.
        var idle: [Entry] = []
        var lent = 0
        var opening = 0
        /// Tickets of the threads that wait, the first one first.
        var waiting: [UInt64] = []
        var lastTicket: UInt64 = 0

        mutating func enter() -> UInt64 {
            lastTicket += 1
            waiting.append(lastTicket)
            return lastTicket
        }

        mutating func leave(_ ticket: UInt64) { waiting.removeAll { $0 == ticket } }

        /// What the holder of a ticket may do now; nil is to wait.
        mutating func turn(_ ticket: UInt64, onlyOpen: Bool) -> Turn? {
            if onlyOpen && idle.isEmpty && lent == 0 {
                leave(ticket)
                return .nothing
            }
            let places = onlyOpen ? 0 : max(0, kept - idle.count - lent - opening)
            guard let index = waiting.firstIndex(of: ticket), index < idle.count + places else { return nil }
            waiting.remove(at: index)
            guard let entry = idle.popLast() else {
                opening += 1
                return .open
            }
            lent += 1
            return .use(entry)
        }

        /// Removes further sessions that have not been used for a second.
        mutating func takeSurplus(at now: ContinuousClock.Instant) -> [Entry] {
            var surplus: [Entry] = []
            while waiting.isEmpty, idle.count + lent + opening > kept, let first = idle.first,
                now - first.usedAt >= SessionPool.surplusLifetime
            {
                surplus.append(idle.removeFirst())
            }
            return surplus
        }
    }

    private static let surplusLifetime = Duration.seconds(1)

    private let state: ConditionLock<State>

    /// A pool without sessions, of which `kept` stay open once they are opened.
    init(kept: Int) { state = ConditionLock(State(kept: kept)) }

    /// A session that is not in use, at once or within `maxWait`; it may be broken. Nil: the caller is to open one.
    ///
    /// The caller calls `give` or `drop` afterwards, and `opened` or `failed` when it was to open one.
    ///
    /// - Parameter maxWait: nil to wait as long as it takes.
    func take(maxWait: Duration?) -> Entry? {
        var ticket: UInt64?
        func next(_ state: inout State) -> sending Turn? {
            let own = ticket ?? state.enter()
            ticket = own
            return state.turn(own, onlyOpen: false)
        }
        let turn = if let maxWait { state.wait(atMost: maxWait, for: next) } else { state.wait(for: next) }
        if case .use(let entry) = turn { return entry }
        if turn == nil, let ticket {
            state.change(wakingAll: true) {
                $0.leave(ticket)
                $0.opening += 1
            }
        }
        return nil
    }

    /// A session that is open, at once or within `limit`. For a login that may not open another.
    func takeOpen(within limit: Duration) -> OpenSession {
        var ticket: UInt64?
        let turn = state.wait(atMost: limit) { state -> Turn? in
            let own = ticket ?? state.enter()
            ticket = own
            return state.turn(own, onlyOpen: true)
        }
        switch turn {
        case .use(let entry): return .taken(entry)
        case .open, .nothing: return .none
        case nil:
            if let ticket { state.change(wakingAll: true) { $0.leave(ticket) } }
            return .inUse
        }
    }

    /// Adds a session that the caller has opened and uses.
    func opened(_ session: consuming Session) -> Entry {
        state.change {
            $0.opening -= 1
            $0.lent += 1
        }
        return Entry(session)
    }

    /// No session could be opened.
    func failed() { state.change(wakingAll: true) { $0.opening -= 1 } }

    /// Returns a session that can be used again.
    func give(_ entry: Entry) {
        // Closed without the lock.
        var surplus: [Entry] = []
        let now = ContinuousClock.now
        entry.usedAt = now
        state.change(wakingAll: true) {
            $0.lent -= 1
            $0.idle.append(entry)
            surplus = $0.takeSurplus(at: now)
        }
        surplus.removeAll()
    }

    /// The caller closes a session that it has taken.
    func drop() { state.change(wakingAll: true) { $0.lent -= 1 } }

    /// Sessions that are open, in use or not.
    var count: Int { state.wait { $0.idle.count + $0.lent } }

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
