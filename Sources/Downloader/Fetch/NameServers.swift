internal import CCares
internal import Concurrency
private import Glibc

/// Asks name servers, any number of questions at once, on one thread of its own: names that are never answered cost
/// the others nothing.
final class NameServers: Sendable {
    private let loop: LookupLoop
    private let thread: EventLoop

    init() {
        loop = LookupLoop()
        thread = EventLoop(name: "larder-dns", poller: loop)
    }

    deinit { thread.stop() }

    /// Asks for a name's addresses, from any thread; `done` is called once, on the thread of the name servers, within a
    /// few seconds.
    func ask(_ host: String, _ done: @escaping @Sendable (LookupCache.Answer) -> Void) { loop.ask(host, done) }
}

/// How the thread sleeps: until a name server answers, time is up, or somebody asks.
private final class LookupLoop: EventPoller, @unchecked Sendable {  // protected by: its one thread; `asked` by its lock
    private typealias Question = (host: String, done: @Sendable (LookupCache.Answer) -> Void)

    /// Between two readings of the configuration, when nothing is asked just then.
    private static let lifetime = Duration.seconds(60)

    private let asked = Locked<[Question]>([])
    private let bell: Int32
    private var channel: AresChannel
    private var madeAt = ContinuousClock.now
    private var underWay = 0

    init() {
        guard let channel = AresChannel() else { preconditionFailure("c-ares cannot be started: no memory") }
        self.channel = channel
        bell = larder_ares_bell()
        precondition(bell >= 0, "the system refuses a descriptor (errno \(errno))")
    }

    deinit { close(bell) }

    func ask(_ host: String, _ done: @escaping @Sendable (LookupCache.Answer) -> Void) {
        asked.withLock { $0.append((host, done)) }
        wake()
    }

    func wake() { larder_ares_ring(bell) }

    func poll() {
        channel.wait(bell: bell)
        let questions = asked.withLock { asked in
            defer { asked = [] }
            return asked
        }
        if questions.isEmpty { return }
        if underWay == 0, madeAt.duration(to: .now) > Self.lifetime, let fresh = AresChannel() {
            channel = fresh
            madeAt = .now
        }
        for question in questions {
            underWay += 1
            channel.ask(question.host) { [unowned self] answer in
                underWay -= 1
                question.done(answer)
            }
        }
    }
}
