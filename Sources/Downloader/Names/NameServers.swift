internal import CCares
internal import Concurrency
private import Glibc

/// Queries name servers on one thread, concurrently: unanswered queries do not delay others.
final class NameServers: Sendable {
    private let loop: LookupLoop
    private let thread: EventLoop

    /// - Parameter servers: `address:port,…` replacing the servers in `/etc/resolv.conf`; nil by default.
    init(servers: String? = nil) {
        loop = LookupLoop(servers)
        thread = EventLoop(name: "larder-dns", poller: loop)
    }

    deinit { thread.stop() }

    /// Queries a name's addresses, from any thread; `done` is called once, on the name server thread, within 4 s.
    func query(_ host: String, _ done: @escaping @Sendable (LookupCache.Answer) -> Void) {
        loop.added.withLock { $0.append((host, done)) }
        loop.wake()
    }
}

/// The thread's sleep: until a name server responds, a query times out, or another lookup arrives.
///
/// A lookup starts as one query for both families. Some name servers never answer AAAA, and c-ares then returns the
/// IPv4 addresses only after the time-out. So a slow lookup adds one query per family, and the first addresses end it.
///
/// Protected by its thread; `added` has a lock.
private final class LookupLoop: EventPoller, @unchecked Sendable {
    typealias Request = (host: String, done: @Sendable (LookupCache.Answer) -> Void)

    private struct Lookup {
        let request: Request
        var queries = 1
        /// When to send one query per family; nil once sent.
        var separateAt: ContinuousClock.Instant?
        var failure = LookupFailure.notFound
        /// Whether the IPv4 query was answered without an address.
        var isMissing = false
    }

    /// Age after which the configuration is read again, when no query is running.
    private static let lifetime = Duration.seconds(60)
    /// Duration after which a lookup adds one query per family.
    private static let separateAfter = Duration.milliseconds(300)

    let added = Locked<[Request]>([])
    private let servers: String?
    private let event: Int32
    private var channel: AresChannel
    private var madeAt = ContinuousClock.now
    /// Running queries, also of ended lookups.
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
        // Weak: the channel ends its queries in its deinit, after this object is gone.
        channel.query(host, family) { [weak self] answer in
            self?.queries -= 1
            self?.ended(number, family, answer)
        }
    }

    /// A query has ended; the first addresses are the answer. Without any, an unanswered IPv6 query is ignored if the
    /// IPv4 query was answered, as the name server works.
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
