/// What names were found to mean, for a while: 60 s, failures 5 s, at most 4,096 names.
///
/// Not every way of asking tells how long an answer holds, so the time is fixed and short.
struct LookupCache: Sendable {
    typealias Answer = Result<[IPAddress], LookupFailure>

    private struct Entry: Sendable {
        let answer: Answer
        let expiry: ContinuousClock.Instant
    }

    private let capacity: Int
    private var entries: [String: Entry] = [:]

    init(capacity: Int = 4096) { self.capacity = capacity }

    /// The remembered answer if it still holds.
    func answer(for host: String, at now: ContinuousClock.Instant) -> Answer? {
        guard let entry = entries[host], now < entry.expiry else { return nil }
        return entry.answer
    }

    /// Remembers an answer. A full cache loses what has expired, and all of it when nothing has.
    mutating func store(_ answer: Answer, for host: String, at now: ContinuousClock.Instant) {
        let lifetime: Duration
        switch answer {
        case .success: lifetime = .seconds(60)
        // A name whose servers do not answer costs the whole limit each time it is asked for.
        case .failure(.notFound), .failure(.timedOut): lifetime = .seconds(5)
        case .failure(.cancelled): return
        }
        if entries.count >= capacity && entries[host] == nil {
            entries = entries.filter { now < $0.value.expiry }
            if entries.count >= capacity { entries.removeAll() }
        }
        entries[host] = Entry(answer: answer, expiry: now + lifetime)
    }
}
