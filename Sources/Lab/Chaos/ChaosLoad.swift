import Concurrency
import ImageModel
import JobQueue
import Terminal

/// The producers' load: numbered images of several origins, in batches with remembered sizes.
final class ChaosLoad: Sendable {
    private struct State: Sendable {
        var random: SeededRandom
        var next = 0
        var batches = 0
        /// The final number of items per batch.
        var sizes: [String: Int] = [:]
    }

    /// Images before the first ones are requested again: their files must fit into the cache's file system.
    private static let images = 5_000
    /// SDWebImageRefreshCached.
    private static let refreshCached: UInt64 = 1 << 3
    static let pipeline = "chaos"
    /// Large enough to keep a transcoder busy for a while.
    static let spec = """
        {"name":"chaos","variants":[{"name":"card","transform":[{"type":"resize","width":240,"height":160}],"format":"jpeg"}]}
        """

    private let run: String
    private let origins: [SocketPlace]
    private let state: Locked<State>

    init(run: String, seed: UInt64, origins: [SocketPlace]) {
        self.run = run
        self.origins = origins
        state = Locked(State(random: SeededRandom(seed: seed)))
    }

    func batch(_ kind: String) -> String {
        state.withLock { state in
            state.batches += 1
            return "chaos-\(run)-\(kind)-\(state.batches)"
        }
    }

    /// A request with new URLs; with `joins` a fifth are recent ones, which may join live jobs.
    func request(_ count: Int, batch: String, from: Int, joins: Bool) -> EnqueueRequest {
        let (numbers, isAgain) = state.withLock { state in
            let numbers = (0..<count).map { _ in
                if joins, state.next > 100, Int.random(in: 0..<5, using: &state.random) == 0 {
                    return state.next - Int.random(in: 1...100, using: &state.random)
                }
                state.next += 1
                return state.next
            }
            return (numbers, state.next > Self.images)
        }
        var request = EnqueueRequest(urls: numbers.map(url), batch: batch)
        request.pipeline = Self.pipeline
        // A fault of the origin may hit a job several times in a row.
        request.maxAttempts = 12
        request.retryBase = .milliseconds(250)
        request.options = isAgain ? Self.refreshCached : 0
        request.source = (name: "list", from: from)
        request.traceparent = Self.traceparent
        return request
    }

    /// Enqueues 2,000 URLs by SQL and returns when the first are completed.
    func begin(_ url: String) async throws {
        let batch = batch("before")
        let urls = request(2_000, batch: batch, from: 0, joins: false).urls
        let session = BenchSession(url)
        try await session.execute(
            """
            SELECT count(*) FROM larder.enqueue_many(ARRAY[\(urls.map { "'\($0)'" }.joined(separator: ","))],
                batch => '\(batch)', max_attempts => 12, traceparent => '\(Self.traceparent)')
            """)
        try await session.execute("SELECT larder.batch_seal('\(batch)')")
        sized(batch, urls.count)
        let limit = ContinuousClock.now + .seconds(30)
        while try await session.number("SELECT succeeded FROM larder.progress WHERE batch = '\(batch)'") < 50 {
            guard .now < limit else { throw CommandError.larder(.other, "the older program completes no job") }
            try await Task.sleep(for: .milliseconds(20))
        }
        await session.close()
    }

    /// A sampled span of a new trace. Workers export theirs if this program's environment has OpenTelemetry's variables.
    static var traceparent: String {
        "00-\(UInt128.random(in: 1 ... .max).hexadecimal(digits: 32))-00f067aa0ba902b7-01"
    }

    /// The latest enqueued URLs, most of them of live jobs.
    func recentURLs(_ count: Int) -> [String] {
        state.withLock { state in (max(1, state.next - count)..<max(2, state.next)).map(url) }
    }

    func sized(_ batch: String, _ items: Int) { state.withLock { $0.sizes[batch, default: 0] += items } }

    var sizes: [String: Int] { state.withLock { $0.sizes } }

    private func url(_ counter: Int) -> String {
        let number = counter % Self.images
        guard case .port(let host, let port) = origins[number % origins.count] else { return "" }
        return "http://\(host):\(port)/\(number).png"
    }

    /// The image number in a URL of this run.
    static func number(of url: String) -> Int? {
        url.split(separator: "/").last?.split(separator: ".").first.flatMap { Int($0) }
    }
}

struct ChaosProducer: Sendable {
    let load: ChaosLoad
    let queue: PostgresJobQueue
    let ledger: ChaosLedger
    let openItems: @Sendable () -> Int
    let backlog: Int
    /// A joining producer waits for a transaction that has joined the same jobs; another one keeps the workers busy.
    let joins: Bool

    /// Runs until `isOver`, and completes the current batch.
    func run(until isOver: @Sendable () -> Bool) async {
        while !isOver() {
            guard openItems() < backlog else {
                try? await Task.sleep(for: .milliseconds(100))
                continue
            }
            let batch = load.batch("batch")
            var items = 0
            for _ in 0..<3 {
                let request = load.request(40, batch: batch, from: items, joins: joins)
                // A call repeated after a lost answer finds its list further on: it took effect the first time.
                await persistently("enqueue") { () throws(QueueError) in
                    do throws(QueueError) {
                        _ = try await queue.producer.enqueue(request)
                    } catch {
                        guard error.code == .sourceMoved else { throw error }
                    }
                }
                items += 40
            }
            load.sized(batch, items)
            await persistently("seal") { () throws(QueueError) in try await queue.producer.seal(.name(batch)) }
        }
    }

    /// Repeats a call during outages, for at most two minutes.
    private func persistently(_ what: String, _ call: () async throws(QueueError) -> Void) async {
        let limit = ContinuousClock.now + .seconds(120)
        while true {
            do throws(QueueError) {
                return try await call()
            } catch {
                // A pooler that restarts refuses with a class of its own (08P01).
                let mayRepeat = error.isTransient || error.sqlState?.hasPrefix("08") == true
                guard mayRepeat || error.sqlState?.hasPrefix("53") == true, .now < limit else {
                    return ledger.violated("\(what) failed: \(error.code) \(error)")
                }
            }
            try? await Task.sleep(for: .milliseconds(200))
        }
    }
}
