internal import Executors
internal import JobQueue

/// Collects finished jobs and commits them together; whoever hands one in waits until it is committed.
///
/// While one statement is under way the next outcomes gather, so a busy worker settles hundreds at a time and an idle
/// one settles at once. A database that is away costs only time: the slots stay taken, so nothing piles up.
final class Settler: Sendable {
    private struct State: Sendable {
        var nextTicket: UInt64 = 0
        var waiting: [(ticket: UInt64, outcome: Outcome)] = []
        var callers: [UInt64: CheckedContinuation<Settlement.Decision?, Never>] = [:]
        var failure: QueueError?
        var ended = false
    }

    private let session: WorkerSession
    private let observe: @Sendable (WorkerEvent) -> Void
    private let state = Locked(State())
    private let doorbell = Doorbell()

    /// At most so many outcomes go into one statement.
    static let batch = 500
    /// Between two tries to reach a database that is away, or a job that somebody holds.
    static let pause = Duration.milliseconds(200)

    init(session: WorkerSession, observe: @escaping @Sendable (WorkerEvent) -> Void) {
        self.session = session
        self.observe = observe
    }

    /// What made going on pointless, if anything did: the shift ends over it.
    var failure: QueueError? { state.withLock { $0.failure } }

    /// Ends the shift over an error that waiting does not mend.
    func fail(_ error: QueueError) { state.withLock { $0.failure = $0.failure ?? error } }

    /// Commits one outcome; nil when the task was cancelled or the worker ended before it was.
    func settle(_ outcome: Outcome) async -> Settlement.Decision? {
        let ticket = state.withLock { state in
            state.nextTicket += 1
            return state.nextTicket
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let accepted = state.withLock { state in
                    if state.ended || Task.isCancelled { return false }
                    state.waiting.append((ticket, outcome))
                    state.callers[ticket] = continuation
                    return true
                }
                if accepted { doorbell.ring() } else { continuation.resume(returning: nil) }
            }
        } onCancel: {
            answer(ticket, nil)
        }
    }

    /// Commits what comes until cancelled. What is left then is answered nil: its lease will run out.
    func run() async {
        while !Task.isCancelled {
            await doorbell.wait()
            while !Task.isCancelled {
                let entries = state.withLock { state in
                    let entries = Array(state.waiting.prefix(Self.batch))
                    state.waiting.removeFirst(entries.count)
                    // Nobody waits for the outcome of a cancelled call: it is not worth a statement.
                    return entries.filter { state.callers[$0.ticket] != nil }
                }
                if entries.isEmpty { break }
                await commit(entries)
            }
        }
        let left = state.withLock { state in
            state.ended = true
            return Array(state.callers.keys)
        }
        for ticket in left { answer(ticket, nil) }
    }

    private func commit(_ entries: [(ticket: UInt64, outcome: Outcome)]) async {
        var again: [(ticket: UInt64, outcome: Outcome)] = []
        do throws(QueueError) {
            let settlements = try await session.settle(entries.map(\.outcome))
            for (entry, settlement) in zip(entries, settlements) {
                // Somebody joins the job just now: it is sent again, and holds up none of the others.
                if settlement.decision == .busy {
                    again.append(entry)
                } else {
                    answer(entry.ticket, settlement.decision)
                }
            }
            again += entries.dropFirst(settlements.count)
        } catch {
            observe(.queueUnavailable(error))
            if !error.isTransient { fail(error) }
            // Sent again as they were: settling is idempotent, so a reply lost on the way does no harm.
            again = entries
        }
        guard !again.isEmpty else { return }
        state.withLock { $0.waiting.append(contentsOf: again) }
        try? await Task.sleep(for: Self.pause)
    }

    private func answer(_ ticket: UInt64, _ decision: Settlement.Decision?) {
        let caller: CheckedContinuation<Settlement.Decision?, Never>? = state.withLock {
            $0.callers.removeValue(forKey: ticket)
        }
        caller?.resume(returning: decision)
    }
}
