private import Concurrency
private import Glibc

/// Resolves names with `getaddrinfo` on threads.
///
/// Some name servers never answer AAAA, and `getaddrinfo` then returns the IPv4 addresses only after all time-outs, 15
/// s by default. So a lookup that is slow or waits for a thread is followed by an IPv4-only lookup on separate threads,
/// and the first addresses end it. A running call keeps its thread.
final class SystemNames: Sendable {
    enum Family: Sendable {
        case any, v4
    }

    private enum Phase: Sendable {
        case running, over
    }

    private let pool: ThreadPool
    private let poolOfIPv4: ThreadPool
    private let separateAfter: Duration
    private let lookup: @Sendable (String, Family) -> LookupCache.Answer

    /// - Parameters:
    ///   - threads: threads for lookups, and as many for IPv4-only lookups; at least 1.
    ///   - separateAfter: duration after which the second lookup starts.
    ///   - lookup: blocks; `getaddrinfo` by default.
    init(
        threads: Int, separateAfter: Duration = .milliseconds(300),
        lookup: @escaping @Sendable (String, Family) -> LookupCache.Answer = { SystemNames.find($0, $1) }
    ) {
        pool = ThreadPool(name: "larder-dns", threads: threads)
        poolOfIPv4 = ThreadPool(name: "larder-dns-ipv4", threads: threads)
        self.separateAfter = separateAfter
        self.lookup = lookup
    }

    /// Resolves a name, from any thread; `done` is called once, on another thread.
    func query(_ host: String, _ done: @escaping @Sendable (LookupCache.Answer) -> Void) {
        let phase = ConditionLock(Phase.running)
        /// Ends the lookup; false if it has already ended.
        @Sendable func end() -> Bool {
            var isFirst = false
            phase.change {
                isFirst = $0 == .running
                $0 = .over
            }
            return isFirst
        }
        @Sendable func hasEnded(within limit: Duration) -> Bool {
            phase.wait(atMost: limit) { $0 == .over ? true : nil } ?? false
        }
        pool.submit { [lookup] in
            guard !hasEnded(within: .zero) else { return }
            let answer = lookup(host, .any)
            if end() { done(answer) }
        }
        poolOfIPv4.submit { [lookup, separateAfter] in
            guard !hasEnded(within: separateAfter) else { return }
            let answer = lookup(host, .v4)
            // A name without IPv4 addresses may have IPv6 addresses.
            if (try? answer.get()) != nil, end() { done(answer) }
        }
    }

    private static func find(_ host: String, _ family: Family) -> LookupCache.Answer {
        var hints = addrinfo()
        hints.ai_family = family == .v4 ? AF_INET : AF_UNSPEC
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        switch getaddrinfo(host, nil, &hints, &list) {
        case 0: break
        // `getaddrinfo` does not distinguish SERVFAIL from a server that does not respond.
        case EAI_AGAIN: return .failure(.serverFailed)
        case EAI_MEMORY: return .failure(.unreachable)
        case EAI_SYSTEM where LocalFault.reason(errno) != nil: return .failure(.unreachable)
        default: return .failure(.notFound)
        }
        defer { freeaddrinfo(list) }
        var found: [IPAddress] = []
        for entry in sequence(first: list, next: { $0?.pointee.ai_next }) {
            if let socketAddress = entry?.pointee.ai_addr, let address = IPAddress(socketAddress: socketAddress),
                !found.contains(address)
            {
                found.append(address)
            }
        }
        return found.isEmpty ? .failure(.notFound) : .success(found)
    }
}
