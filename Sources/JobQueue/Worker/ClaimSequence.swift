/// Numbers a worker's claims, and keeps the numbers whose answer did not come and where the next claim may begin.
struct ClaimSequence: Sendable {
    /// A claim's number; `isAgain` when a claim of this number may have taken effect.
    struct Ticket: Sendable {
        let number: Int64
        let isAgain: Bool
    }

    var unanswered: [Int64] = []
    var floors: [ClaimSource: ClaimCursors] = [:]
    private var last: Int64 = 0

    /// The ticket of the next claim: one that was not answered comes first.
    mutating func take() -> Ticket {
        if let number = unanswered.popLast() { return Ticket(number: number, isAgain: true) }
        last += 1
        return Ticket(number: last, isAgain: false)
    }

    /// A ticket that was never used; nil while the answer to another is missing.
    mutating func takeNew() -> Ticket? { unanswered.isEmpty ? take() : nil }

    /// Takes note of what a claim for `limit` jobs brought.
    mutating func note(_ jobs: [Job], of limit: Int, from source: ClaimSource) {
        floors[source, default: ClaimCursors(for: source)].claimed(jobs, of: limit)
    }
}
