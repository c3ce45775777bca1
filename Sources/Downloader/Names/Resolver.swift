private import Concurrency

/// Why a name has no addresses.
package enum LookupFailure: Error, Sendable, Equatable {
    /// The name does not exist or has no address.
    case notFound
    case timedOut
    /// The name servers answer SERVFAIL, NOTIMP or REFUSED.
    case serverFailed
    /// No name server can be reached, or out of memory.
    case unreachable
    case cancelled
}

/// Resolves names; tests provide their own.
package protocol NameResolving: Sendable {
    /// The addresses of `host`, at least one, unchecked; returns within `limit`.
    func addresses(of host: String, within limit: Duration) async throws(LookupFailure) -> [IPAddress]
}

/// Resolves names with name servers, without blocking, or with the system's resolver on threads. Answers are cached.
///
/// Concurrent lookups of one name are shared and bounded in number. `SingleFlight` does not fit: a lookup cannot be
/// cancelled, so it runs and counts even without a waiter. With name servers, an unanswered name does not delay others.
/// `getaddrinfo` uses all of the system's sources but cannot be interrupted: its thread stays busy after the limit, and
/// when all are busy, other names wait.
package final class Resolver: NameResolving {
    /// Starts a lookup; the callback is called once, from any thread, possibly before the return.
    typealias Lookup = @Sendable (String, @escaping @Sendable (LookupCache.Answer) -> Void) -> Void

    private struct State: Sendable {
        var cache = LookupCache()
        /// Running lookups and their waiting tasks.
        var running: [String: [UInt64]] = [:]
    }

    private static let maximumLookups = 4096

    private let lookup: Lookup
    private let lookups = Waiters<State, LookupCache.Answer>(State())

    /// A resolver over name servers.
    package convenience init() {
        self.init(lookup: NameServers().query)
    }

    /// A resolver using `getaddrinfo`.
    package convenience init(threads: Int) {
        self.init(lookup: SystemNames(threads: threads).query)
    }

    /// A resolver using a blocking lookup.
    convenience init(threads: Int, lookup: @escaping @Sendable (String) -> LookupCache.Answer) {
        let pool = ThreadPool(name: "larder-dns", threads: threads)
        self.init { host, done in pool.submit { done(lookup(host)) } }
    }

    init(lookup: @escaping Lookup) { self.lookup = lookup }

    package func addresses(of host: String, within limit: Duration) async throws(LookupFailure) -> [IPAddress] {
        if let address = IPAddress(host) { return [address] }
        if let cached = lookups.withState({ $0.cache.answer(for: host, at: .now) }) { return try cached.get() }
        let result = await withTaskGroup(of: LookupCache.Answer.self) { group in
            group.addTask { [self] in await answer(for: host) }
            group.addTask {
                do { try await Task.sleep(for: limit) } catch { return .failure(.cancelled) }
                return .failure(.timedOut)
            }
            let first = await group.next()
            group.cancelAll()
            return first ?? .failure(.cancelled)
        }
        return try result.get()
    }

    /// Starts or joins a lookup and waits for its answer. The lookup continues if all waiting tasks are cancelled.
    private func answer(for host: String) async -> LookupCache.Answer {
        var isFirst = false
        return await lookups.wait(
            cancelled: .failure(.cancelled),
            enter: { state, ticket in
                if state.running[host]?.append(ticket) != nil { return nil }
                if let cached = state.cache.answer(for: host, at: .now) { return cached }
                guard state.running.count < Self.maximumLookups else { return .failure(.timedOut) }
                state.running[host] = [ticket]
                isFirst = true
                return nil
            },
            leave: { state, ticket in state.running[host]?.removeAll { $0 == ticket } },
            entered: { if isFirst { lookup(host) { [self] answer in end(host, answer) } } })
    }

    private func end(_ host: String, _ answer: LookupCache.Answer) {
        lookups.resume { state in
            state.cache.store(answer, for: host, at: .now)
            return (state.running.removeValue(forKey: host) ?? []).map { ($0, answer) }
        }
    }
}

/// Answers of recent lookups: addresses for 60 s, failures for 5 s, at most 4,096 names.
///
/// Not every source reports how long an answer is valid, so the time is fixed and short.
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

    /// Adds an answer. A full cache first drops expired answers, or all if none has expired.
    mutating func store(_ answer: Answer, for host: String, at now: ContinuousClock.Instant) {
        let lifetime: Duration
        switch answer {
        case .success: lifetime = .seconds(60)
        // Cached, because each lookup of a name whose servers do not respond takes the whole time limit.
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
