internal import Executors
internal import JobQueue

/// Collects finished jobs and commits them together; whoever hands one in waits until it is committed.
///
/// While one statement is under way the next outcomes gather, so a busy worker settles hundreds at a time and an idle
/// one settles at once. A database that is away costs only time: the slots stay taken, so nothing piles up.
actor Settler {
    private struct Entry {
        let outcome: Outcome
        let done: CheckedContinuation<Settlement.Decision?, Never>
    }

    private let session: WorkerSession
    private let observe: @Sendable (WorkerEvent) -> Void
    private var waiting: [Entry] = []
    private var ended = false
    /// What made committing pointless; the shift ends over it.
    private(set) var failure: QueueError?
    private let doorbell = Doorbell()

    /// At most so many outcomes go into one statement.
    static let batch = 500

    init(session: WorkerSession, observe: @escaping @Sendable (WorkerEvent) -> Void) {
        self.session = session
        self.observe = observe
    }

    /// Commits one outcome; nil when the worker ended before it could.
    func settle(_ outcome: Outcome) async -> Settlement.Decision? {
        guard !ended else { return nil }
        return await withCheckedContinuation { continuation in
            waiting.append(Entry(outcome: outcome, done: continuation))
            doorbell.ring()
        }
    }

    /// Commits what comes until cancelled. What is left then is answered nil: its lease will run out.
    func run() async {
        while !Task.isCancelled {
            await doorbell.wait()
            while !waiting.isEmpty && !Task.isCancelled {
                let entries = Array(waiting.prefix(Self.batch))
                waiting.removeFirst(entries.count)
                await commit(entries)
            }
        }
        ended = true
        for entry in waiting { entry.done.resume(returning: nil) }
        waiting = []
    }

    private func commit(_ entries: [Entry]) async {
        while true {
            do throws(QueueError) {
                let settlements = try await session.settle(entries.map(\.outcome))
                for (entry, settlement) in zip(entries, settlements) {
                    entry.done.resume(returning: settlement.decision)
                }
                // One settlement per outcome is the contract; a short answer must still leave nobody waiting.
                for entry in entries.dropFirst(settlements.count) { entry.done.resume(returning: nil) }
                return
            } catch {
                observe(.queueUnavailable(error))
                if Task.isCancelled || !error.isTransient {
                    failure = error
                    for entry in entries { entry.done.resume(returning: nil) }
                    return
                }
                // Sent again as it was: settling is idempotent, so a reply lost on the way does no harm.
                try? await Task.sleep(for: .milliseconds(500))
            }
        }
    }
}
