/// Numbers a worker's claims. Keeps unanswered numbers, numbers whose jobs are held, and the position of its claims
/// from one batch.
struct ClaimSequence: Sendable {
    /// A claim's number; `isAgain` if an earlier claim with this number may have taken effect.
    struct Ticket: Sendable {
        let number: Int64
        let isAgain: Bool
    }

    /// The last job claimed from a batch. The next claim starts behind it, to skip the batch's jobs that wait for a
    /// retry.
    private struct Position {
        let batch: Int64
        var job: Int64
        let since: ContinuousClock.Instant
    }

    /// How long a position is used, and so the longest delay of a job that becomes ready below it.
    static let positionLifetime = Duration.seconds(1)

    private var unanswered: [Int64] = []
    private var sent: Set<Int64> = []
    /// Held jobs by claim number.
    private var held: [Int64: Set<Int64>] = [:]
    private var last: Int64 = 0
    private var position: Position?

    /// The next claim's ticket: an unanswered number, else a new one.
    mutating func take() -> Ticket {
        let lost = unanswered.popLast()
        if lost == nil { last += 1 }
        sent.insert(lost ?? last)
        return Ticket(number: lost ?? last, isAgain: lost != nil)
    }

    /// Keeps a ticket whose answer was lost.
    mutating func keep(_ ticket: Ticket) {
        sent.remove(ticket.number)
        unanswered.append(ticket.number)
    }

    mutating func answered(_ ticket: Ticket, _ jobs: [Job]) {
        sent.remove(ticket.number)
        if !jobs.isEmpty { held[ticket.number, default: []].formUnion(jobs.lazy.map(\.id)) }
    }

    /// Removes jobs that are no longer held.
    mutating func end(_ claims: some Sequence<Claim>) {
        for claim in claims {
            held[claim.number]?.remove(claim.job)
            if held[claim.number]?.isEmpty ?? false { held[claim.number] = nil }
        }
    }

    /// The lowest claim number of a job that may be held, or the next claim's.
    var oldest: Int64 { [sent.min(), unanswered.min(), held.keys.min()].compactMap { $0 }.min() ?? last + 1 }

    /// The job behind which a claim from `source` starts; 0 for the first job.
    func start(of source: ClaimSource, now: ContinuousClock.Instant = .now) -> Int64 {
        guard let position, source == .batch(position.batch), now - position.since < Self.positionLifetime else {
            return 0
        }
        return position.job
    }

    /// Records a claim's result; fewer than `limit` jobs end the position.
    mutating func note(
        _ jobs: [Job], of limit: Int, from source: ClaimSource, now: ContinuousClock.Instant = .now
    ) {
        guard case .batch(let batch) = source, jobs.count >= limit, let last = jobs.map(\.id).max() else {
            position = nil
            return
        }
        let start = start(of: source, now: now)
        if start == 0 {
            position = Position(batch: batch, job: last, since: now)
        } else {
            position?.job = max(start, last)
        }
    }

    /// Forgets the position, because jobs below it are ready again.
    mutating func forgetPosition() { position = nil }
}

package enum ClaimSource: Hashable, Sendable {
    case queue(String)
    /// The jobs of one batch in any queue.
    case batch(Int64)

    /// Argument `queue` of `larder.claim_v1`; unused for a batch.
    var queueName: String { if case .queue(let name) = self { name } else { "default" } }

    /// Argument `only_batch` of `larder.claim_v1`.
    var onlyBatch: String? { if case .batch(let id) = self { String(id) } else { nil } }
}
