private import Concurrency
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

/// Looks names up, with a small cache: by name servers asked without blocking, or by the system's resolver on threads.
///
/// The limit counts from asking. Several who ask for one name share one look-up, and names under way are bounded.
/// With name servers one that is never answered holds up no other. The system's `getaddrinfo` asks every source of names
/// that the system has, but cannot be interrupted: whoever waits leaves after the limit, the thread stays with the look-up
/// until it ends, and when all threads are stuck, new names wait.
package final class Resolver: NameResolving {
    private struct State: Sendable {
        var cache = LookupCache()
        var pending: [String: [UInt64: CheckedContinuation<LookupCache.Answer, Never>]] = [:]
        var nextTicket: UInt64 = 0
    }

    /// Starts a look-up; what it is given is called once with the answer, on any thread, at once perhaps.
    typealias Lookup = @Sendable (String, @escaping @Sendable (LookupCache.Answer) -> Void) -> Void

    private let lookup: Lookup
    private let state = Locked(State())
    private static let mostUnderWay = 4096

    /// A resolver over name servers.
    package convenience init() {
        let servers = NameServers()
        self.init { host, done in servers.ask(host, done) }
    }

    /// A resolver over `getaddrinfo`.
    package convenience init(threads: Int) {
        self.init(threads: threads) { host in Self.systemLookup(host) }
    }

    /// A resolver over any blocking look-up.
    convenience init(threads: Int, lookup: @escaping @Sendable (String) -> LookupCache.Answer) {
        let pool = ThreadPool(name: "larder-dns", threads: threads)
        self.init { host, done in pool.submit { done(lookup(host)) } }
    }

    /// A resolver over any look-up.
    init(lookup: @escaping Lookup) { self.lookup = lookup }

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
                    if isNew && state.pending.count >= Self.mostUnderWay { return (.failure(.timedOut), false) }
                    state.pending[host, default: [:]][ticket] = continuation
                    return (nil, isNew)
                }
                if let answer { continuation.resume(returning: answer) }
                if isNew { lookup(host) { [self] answer in finish(host, answer) } }
            }
        } onCancel: {
            state.withLock { $0.pending[host]?.removeValue(forKey: ticket) }?.resume(returning: .failure(.cancelled))
        }
    }

    /// Answers all who still wait.
    private func finish(_ host: String, _ answer: LookupCache.Answer) {
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
