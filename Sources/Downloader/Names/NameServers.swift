internal import CCares
internal import Concurrency
private import Glibc

/// Queries name servers concurrently on one thread: unanswered queries delay no others.
final class NameServers: Sendable {
    private let loop: LookupLoop
    private let thread: EventLoop

    /// - Parameter servers: `address:port,…` instead of the servers of `/etc/resolv.conf`; nil by default.
    init(servers: String? = nil) {
        loop = LookupLoop(servers)
        thread = EventLoop(name: "larder-dns", poller: loop)
    }

    deinit { thread.stop() }

    /// Queries the addresses of a name, from any thread; `done` is called once, on the thread of the name servers,
    /// within 4 s.
    func query(_ host: String, _ done: @escaping @Sendable (LookupCache.Answer) -> Void) {
        loop.added.withLock { $0.append((host, done)) }
        loop.wake()
    }
}

/// The sleep of the thread: until a name server responds, a query times out, or another lookup arrives.
///
/// A lookup has one query for both families. Some name servers never answer AAAA, and c-ares returns the addresses of
/// the other query only after the time-out. So a lookup that lasts has one more query per family, and the first
/// addresses end it.
///
/// Protected by its thread, which alone uses it, but for `added`, which has a lock.
private final class LookupLoop: EventPoller, @unchecked Sendable {
    typealias Request = (host: String, done: @Sendable (LookupCache.Answer) -> Void)

    private struct Lookup {
        let request: Request
        var queries = 1
        /// When one query per family is sent; nil once it is.
        var separateAt: ContinuousClock.Instant?
        var failure = LookupFailure.notFound
        /// Whether the query for IPv4 alone was answered, without an address.
        var isMissing = false
    }

    /// The configuration is read again after this time, when no query is running.
    private static let lifetime = Duration.seconds(60)
    /// How long a lookup lasts before it has a query per family.
    private static let separateAfter = Duration.milliseconds(300)

    /// The lookups that have not been started.
    let added = Locked<[Request]>([])
    private let servers: String?
    private let event: Int32
    private var channel: AresChannel
    private var madeAt = ContinuousClock.now
    /// Queries of the channel, including the queries of ended lookups.
    private var queries = 0
    private var lookups: [UInt64: Lookup] = [:]
    private var lastNumber: UInt64 = 0

    init(_ servers: String?) {
        guard let channel = AresChannel(servers: servers) else {
            Shortage.exit("cannot start c-ares", "ares_init_options", errno: ENOMEM)
        }
        self.servers = servers
        self.channel = channel
        event = larder_ares_event()
        guard event >= 0 else { Shortage.exit("cannot look up names", "eventfd", errno: errno) }
    }

    deinit {
        close(event)
        for lookup in lookups.values { lookup.request.done(.failure(.cancelled)) }
    }

    func wake() { larder_ares_signal(event) }

    func poll(mayWait: Bool) {
        let due = lookups.values.compactMap(\.separateAt).min()
        let limit = due.map { Int32(clamping: max(0, ($0 - .now).milliseconds) + 1) } ?? -1
        channel.wait(event: event, milliseconds: mayWait ? limit : 0)
        let now = ContinuousClock.now
        for (number, lookup) in lookups where lookup.separateAt.map({ $0 <= now }) ?? false {
            lookups[number]?.separateAt = nil
            lookups[number]?.queries += 2
            query(number, lookup.request.host, .v4)
            query(number, lookup.request.host, .v6)
        }
        let requests = added.withLock { added in
            defer { added = [] }
            return added
        }
        if queries == 0, !requests.isEmpty, madeAt.duration(to: now) > Self.lifetime,
            let fresh = AresChannel(servers: servers)
        {
            channel = fresh
            madeAt = now
        }
        for request in requests {
            lastNumber += 1
            lookups[lastNumber] = Lookup(request: request, separateAt: now + Self.separateAfter)
            query(lastNumber, request.host, .any)
        }
    }

    private func query(_ number: UInt64, _ host: String, _ family: AresChannel.Family) {
        queries += 1
        // Weak: the channel ends its queries in its deinit, when this object is gone already.
        channel.query(host, family) { [weak self] answer in
            self?.queries -= 1
            self?.ended(number, family, answer)
        }
    }

    /// A query has ended: the first addresses are the answer. Without any, an unanswered query for IPv6 does not count
    /// where the one for IPv4 was answered: the name server works.
    private func ended(_ number: UInt64, _ family: AresChannel.Family, _ answer: LookupCache.Answer) {
        guard var lookup = lookups[number] else { return }
        lookup.queries -= 1
        if case .failure(let failure) = answer {
            if failure != .notFound { lookup.failure = failure } else if family == .v4 { lookup.isMissing = true }
        }
        let isOver = lookup.queries == 0 || (try? answer.get()) != nil
        lookups[number] = isOver ? nil : lookup
        if isOver { lookup.request.done(answer.mapError { _ in lookup.isMissing ? .notFound : lookup.failure }) }
    }
}
