internal import CCares
internal import Concurrency
private import Glibc

/// Queries name servers concurrently on one thread: unanswered queries delay no others.
final class NameServers: Sendable {
    private let loop = LookupLoop()
    private let thread: EventLoop

    init() { thread = EventLoop(name: "larder-dns", poller: loop) }

    deinit { thread.stop() }

    /// Queries the addresses of a name, from any thread; `done` is called once, on the thread of the name servers, within 3 s.
    func query(_ host: String, _ done: @escaping @Sendable (LookupCache.Answer) -> Void) {
        loop.queries.withLock { $0.append((host, done)) }
        loop.wake()
    }
}

/// The sleep of the thread: until a name server responds, a query times out, or another query arrives.
private final class LookupLoop: EventPoller, @unchecked Sendable {  // protected by: its thread; `queries`: its lock
    typealias Query = (host: String, done: @Sendable (LookupCache.Answer) -> Void)

    /// The configuration is read again after this time, when no query is running.
    private static let lifetime = Duration.seconds(60)

    /// The queries that have not been started.
    let queries = Locked<[Query]>([])
    private let event: Int32
    private var channel: AresChannel
    private var madeAt = ContinuousClock.now
    private var running = 0

    init() {
        guard let channel = AresChannel() else { preconditionFailure("c-ares cannot be started: no memory") }
        self.channel = channel
        event = larder_ares_event()
        precondition(event >= 0, "the system refuses a descriptor (errno \(errno))")
    }

    deinit { close(event) }

    func wake() { larder_ares_signal(event) }

    func poll() {
        channel.wait(event: event)
        let added = queries.withLock { queries in
            defer { queries = [] }
            return queries
        }
        if added.isEmpty { return }
        if running == 0, madeAt.duration(to: .now) > Self.lifetime, let fresh = AresChannel() {
            channel = fresh
            madeAt = .now
        }
        for query in added {
            running += 1
            channel.query(query.host) { [unowned self] answer in
                running -= 1
                query.done(answer)
            }
        }
    }
}
