internal import Concurrency
internal import JobQueue

/// Collects the ends of attempts and commits them together; only then their slots are free.
///
/// While one statement is under way the next ends gather, so a busy worker completes hundreds at a time and an idle one
/// completes at once. Nobody waits for a commit: an end is handed over, and the slot is given back by the settler. A
/// database that is away costs only time: the slots stay taken, so nothing piles up.
///
/// Where few ends come, the commit claims for their slots as well: half the round trips and commits, and no slot stands
/// empty between the two. Where many come, completing and claiming beside each other on two connections is faster.
final class BatchCompleter: Sendable {
    private struct State: Sendable {
        var waiting: [Attempt.End] = []
        /// Ends in the statement under way.
        var underWay = 0
        var failure: QueueError?
        /// Whether freed slots are to be filled again.
        var claims = true
        /// Nothing more is worth a statement: what is not committed goes back with the shift.
        var isClosed = false
    }

    private let session: WorkerSession
    private let source: ClaimSource
    private let tally: Tally
    private let observe: @Sendable (WorkerEvent) -> Void
    /// Rung when slots became free.
    private let freed: AsyncEvent
    private let state = Locked(State())
    /// Claims beyond the slots.
    private let surplus = Locked<[Claim]>([])
    private let doorbell = AsyncEvent()

    /// At most so many ends go into one statement.
    static let batch = 500
    /// At most so many ends are completed by a statement that claims as well.
    static let fewEnds = 16
    /// Between two tries to reach a database that is away, or a job that somebody holds.
    static let pause = Duration.milliseconds(200)

    init(
        session: WorkerSession, source: ClaimSource, tally: Tally, freed: AsyncEvent,
        observe: @escaping @Sendable (WorkerEvent) -> Void
    ) {
        self.session = session
        self.source = source
        self.tally = tally
        self.freed = freed
        self.observe = observe
    }

    /// What made going on pointless, if anything did: the shift ends over it.
    var failure: QueueError? { state.withLock { $0.failure } }

    /// Ends the shift over an error that waiting does not mend.
    func fail(_ error: QueueError) { state.withLock { $0.failure = $0.failure ?? error } }

    /// From now on claims nothing.
    func stopClaiming() { state.withLock { $0.claims = false } }

    /// Takes the end of an attempt, and with it the duty to give its slot back.
    func complete(_ end: Attempt.End) {
        let accepted = state.withLock { state in
            if state.isClosed { return false }
            state.waiting.append(end)
            return true
        }
        if accepted { doorbell.signal() } else { giveBack(1) }
    }

    /// Gives back the slots of attempts that have nothing to tell.
    func giveBack(_ slots: Int) {
        guard slots > 0 else { return }
        tally.finish(slots)
        freed.signal()
    }

    /// Drops what is not committed by now, and what comes later: the shift gives those jobs back.
    func abandon() {
        let dropped = state.withLock { state in
            defer {
                state.waiting = []
                state.underWay = 0
                state.isClosed = true
            }
            return state.waiting.count + state.underWay
        }
        giveBack(dropped)
    }

    /// Commits what comes until cancelled. What is left then is given back with the shift, or when the lease runs out.
    func run() async {
        while !Task.isCancelled {
            await doorbell.wait()
            // What is about to end goes with the first that did.
            await Task.yield()
            while !Task.isCancelled {
                let ends = state.withLock { state in
                    let ends = Array(state.waiting.prefix(Self.batch))
                    state.waiting.removeFirst(ends.count)
                    state.underWay = ends.count
                    return ends
                }
                if ends.isEmpty { break }
                await commit(ends)
            }
        }
        abandon()
    }

    private func commit(_ ends: [Attempt.End]) async {
        var again: [Attempt.End] = []
        var untold = ends
        var filled: Tally.Filled?
        do throws(QueueError) {
            try await session.snooze(ends.compactMap { end in end.delay.map { (end.outcome.claim, $0) } })
            untold.removeAll { $0.delay != nil }
            let completions: [CompletionResult]
            (completions, filled) = try await complete(untold.map(\.outcome))
            for (end, completion) in zip(untold, completions) where completion.decision == .busy { again.append(end) }
            tally.count(completions)
            for (end, completion) in zip(untold, completions) where completion.decision != .busy {
                guard let report = end.report(completion.decision) else { continue }
                observe(.completed(report))
            }
        } catch {
            observe(.queueUnavailable(error))
            if !error.isTransient { fail(error) }
            // Sent again as they were: completing is idempotent, so a reply lost on the way does no harm.
            again = untold
        }
        // Of a job that somebody joins just now nothing was recorded: it is sent again, and holds up none of the others.
        let left = again
        let free: Int? = state.withLock { state in
            // What was abandoned meanwhile has its slots back, and what was claimed goes back with the shift.
            if state.isClosed { return nil }
            state.underWay = 0
            state.waiting.append(contentsOf: left)
            return ends.count - left.count
        }
        if let free, let filled {
            tally.refill(filled)
            giveBack(free - filled.slots)
            freed.signal()
        } else if let free {
            giveBack(free)
        }
        if !left.isEmpty { try? await Task.sleep(for: Self.pause) }
    }

    /// One commit; of few ends one that claims for their slots.
    private func complete(
        _ outcomes: [Outcome]
    ) async throws(QueueError) -> (completions: [CompletionResult], filled: Tally.Filled?) {
        try await session.release(surplus.withLock { $0 })
        surplus.withLock { $0 = [] }
        guard (1...Self.fewEnds).contains(outcomes.count), state.withLock({ $0.claims }) else {
            return (try await session.complete(outcomes), nil)
        }
        let turnover = try await session.complete(outcomes, claimingUpTo: outcomes.count, from: source)
        guard let jobs = turnover.jobs else { return (turnover.completions, nil) }
        let slots = turnover.completions.count { $0.decision != .busy }
        // The slot of a job that somebody joins just now is not free: what was claimed for it goes back with the next commit,
        // which comes at once, as that job is sent again.
        surplus.withLock { $0 = jobs.dropFirst(slots).map(\.held) }
        let filled = slots > 0 ? Tally.Filled(slots: slots, jobs: Array(jobs.prefix(slots))) : nil
        return (turnover.completions, filled)
    }
}
