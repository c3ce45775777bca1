/// The answers of recent lookups: addresses for 60 s, failures for 5 s, at most 4,096 names. A pure value.
///
/// Not every source of names reports how long an answer is valid, so the time is fixed and short.
struct LookupCache: Sendable {
    typealias Answer = Result<[IPAddress], LookupFailure>

    private struct Entry: Sendable {
        let answer: Answer
        let expiry: ContinuousClock.Instant
    }

    private let capacity: Int
    private var entries: [String: Entry] = [:]

    init(capacity: Int = 4096) { self.capacity = capacity }

    func answer(for host: String, at now: ContinuousClock.Instant) -> Answer? {
        guard let entry = entries[host], now < entry.expiry else { return nil }
        return entry.answer
    }

    /// Adds an answer. A full cache first loses expired answers, or all when none has expired.
    mutating func store(_ answer: Answer, for host: String, at now: ContinuousClock.Instant) {
        let lifetime: Duration
        switch answer {
        case .success: lifetime = .seconds(60)
        // A name whose servers do not respond would cost the whole limit at each lookup.
        case .failure(.notFound), .failure(.timedOut), .failure(.serverFailed): lifetime = .seconds(5)
        // These say nothing about the name.
        case .failure(.unreachable), .failure(.cancelled): return
        }
        if entries.count >= capacity && entries[host] == nil {
            entries = entries.filter { now < $0.value.expiry }
            if entries.count >= capacity { entries.removeAll() }
        }
        entries[host] = Entry(answer: answer, expiry: now + lifetime)
    }
}
