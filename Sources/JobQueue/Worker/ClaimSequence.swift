/// Numbers a worker's claims, and keeps the numbers whose answer was lost, the numbers whose jobs it holds, and the
/// position of its claims of one batch.
struct ClaimSequence: Sendable {
    /// A claim's number; `isAgain` when a claim of this number may have taken effect.
    struct Ticket: Sendable {
        let number: Int64
        let isAgain: Bool
    }

    /// The last job that claims of a batch took. They start behind it, because the database would otherwise look at
    /// every job of the batch that waits for a retry.
    private struct Position {
        let batch: Int64
        var job: Int64
        let since: ContinuousClock.Instant
    }

    /// How long a position is used: a job that becomes ready below it waits no longer than that.
    static let positionLifetime = Duration.seconds(1)

    private var unanswered: [Int64] = []
    /// Claims that are under way.
    private var sent: Set<Int64> = []
    /// Jobs that the worker holds, by the number of their claim.
    private var held: [Int64: Set<Int64>] = [:]
    private var last: Int64 = 0
    private var position: Position?

    /// The ticket of the next claim: a number whose answer was lost, else a new one.
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

    /// Records what a claim returned.
    mutating func answered(_ ticket: Ticket, _ jobs: [Job]) {
        sent.remove(ticket.number)
        if !jobs.isEmpty { held[ticket.number, default: []].formUnion(jobs.lazy.map(\.id)) }
    }

    /// Records that jobs of these claims are not held any more.
    mutating func end(_ claims: some Sequence<Claim>) {
        for claim in claims {
            held[claim.number]?.remove(claim.job)
            if held[claim.number]?.isEmpty ?? false { held[claim.number] = nil }
        }
    }

    /// The lowest number of a claim of which a job may be held, or of the next claim.
    var oldest: Int64 { [sent.min(), unanswered.min(), held.keys.min()].compactMap { $0 }.min() ?? last + 1 }

    /// Behind which job a claim from `source` starts; 0 is the first one.
    func start(of source: ClaimSource, now: ContinuousClock.Instant = .now) -> Int64 {
        guard let position, source == .batch(position.batch), now - position.since < Self.positionLifetime else {
            return 0
        }
        return position.job
    }

    /// Records what a claim for `limit` jobs returned; fewer jobs than that end the position.
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

/// Where a claim takes its jobs from.
package enum ClaimSource: Hashable, Sendable {
    /// A queue, by name.
    case queue(String)
    /// The jobs that one batch has, in whatever queue they are.
    case batch(Int64)

    /// The argument `queue` of `larder.claim_v1`; unused for a batch.
    var queueName: String { if case .queue(let name) = self { name } else { "default" } }

    /// The argument `only_batch` of `larder.claim_v1`.
    var onlyBatch: String? { if case .batch(let id) = self { String(id) } else { nil } }
}
