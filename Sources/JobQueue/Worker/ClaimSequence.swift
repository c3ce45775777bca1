/// Numbers a worker's claims, and keeps the numbers whose answer was lost and the position of its claims of one batch.
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
    private var last: Int64 = 0
    private var position: Position?

    /// The ticket of the next claim: a number whose answer was lost, else a new one.
    mutating func take() -> Ticket {
        if let number = unanswered.popLast() { return Ticket(number: number, isAgain: true) }
        last += 1
        return Ticket(number: last, isAgain: false)
    }

    /// Keeps a ticket whose answer was lost.
    mutating func keep(_ ticket: Ticket) { unanswered.append(ticket.number) }

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
