private import Executors
private import Glibc

/// Why a name has no addresses.
package enum LookupFailure: Error, Sendable, Equatable {
    /// The name does not exist or has no address.
    case notFound
    /// No answer within the limit.
    case timedOut
    /// The waiting task was cancelled.
    case cancelled
}

/// Turns names into addresses; tests bring their own.
package protocol NameResolving: Sendable {
    /// The addresses of `host`, at least one, not judged yet; answers within `limit`.
    func addresses(of host: String, within limit: Duration) async throws(LookupFailure) -> [IPAddress]
}

/// The system's resolver on threads of its own, with a small cache.
///
/// `getaddrinfo` cannot be interrupted: whoever waits leaves after the limit, the thread stays with the look-up until
/// it ends. So at most `threads` look-ups are stuck, and the names that wait for a thread are bounded too.
/// The limit counts from asking. Several who ask for one name share one look-up.
package final class Resolver: NameResolving {
    private struct State: Sendable {
        var cache = LookupCache()
        var pending: [String: [UInt64: CheckedContinuation<LookupCache.Answer, Never>]] = [:]
        var nextTicket: UInt64 = 0
    }

    private let pool: BlockingPool
    private let lookup: @Sendable (String) -> LookupCache.Answer
    private let state = Locked(State())
    private static let longestQueue = 1024

    /// A resolver over `getaddrinfo`.
    package convenience init(threads: Int = 16) {
        self.init(threads: threads) { host in Self.systemLookup(host) }
    }

    /// A resolver over any blocking look-up.
    init(threads: Int, lookup: @escaping @Sendable (String) -> LookupCache.Answer) {
        pool = BlockingPool(name: "larder-dns", threads: threads)
        self.lookup = lookup
    }

    package func addresses(of host: String, within limit: Duration) async throws(LookupFailure) -> [IPAddress] {
        if let address = IPAddress(host) { return [address] }
        let cached = state.withLock { $0.cache.answer(for: host, at: .now) }
        if let cached { return try cached.get() }
        let answer = await withTaskGroup(of: LookupCache.Answer.self) { group in
            group.addTask { await self.wait(for: host) }
            group.addTask {
                // Cancelled: the other child says so.
                do { try await Task.sleep(for: limit) } catch { return .failure(.cancelled) }
                return .failure(.timedOut)
            }
            let first = await group.next()
            group.cancelAll()
            return first ?? .failure(.cancelled)
        }
        return try answer.get()
    }

    /// Joins the look-up of `host`, starting it if there is none; a cancelled waiter leaves it.
    private func wait(for host: String) async -> LookupCache.Answer {
        let ticket = state.withLock { state in
            state.nextTicket += 1
            return state.nextTicket
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let (answer, isNew): (LookupCache.Answer?, Bool) = state.withLock { state in
                    // The flag is set before the handler runs: seen here, or the handler finds the continuation.
                    if Task.isCancelled { return (.failure(.cancelled), false) }
                    if let cached = state.cache.answer(for: host, at: .now) { return (cached, false) }
                    let isNew = state.pending[host] == nil
                    if isNew && state.pending.count >= Self.longestQueue { return (.failure(.timedOut), false) }
                    state.pending[host, default: [:]][ticket] = continuation
                    return (nil, isNew)
                }
                if let answer { continuation.resume(returning: answer) }
                if isNew { pool.submit { [self] in finish(host) } }
            }
        } onCancel: {
            state.withLock { $0.pending[host]?.removeValue(forKey: ticket) }?.resume(returning: .failure(.cancelled))
        }
    }

    /// On a thread of the pool: looks the name up and answers all who still wait.
    private func finish(_ host: String) {
        let abandoned = state.withLock { state in
            if state.pending[host]?.isEmpty == true { state.pending[host] = nil }
            return state.pending[host] == nil
        }
        if abandoned { return }
        let answer = lookup(host)
        let waiters = state.withLock { state in
            state.cache.store(answer, for: host, at: .now)
            return state.pending.removeValue(forKey: host) ?? [:]
        }
        for waiter in waiters.values { waiter.resume(returning: answer) }
    }

    private static func systemLookup(_ host: String) -> LookupCache.Answer {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, nil, &hints, &list) == 0 else { return .failure(.notFound) }
        defer { freeaddrinfo(list) }
        var found: [IPAddress] = []
        var entry = list
        while let current = entry {
            if let socketAddress = current.pointee.ai_addr, let address = IPAddress(socketAddress: socketAddress),
                !found.contains(address)
            {
                found.append(address)
            }
            entry = current.pointee.ai_next
        }
        return found.isEmpty ? .failure(.notFound) : .success(found)
    }
}
