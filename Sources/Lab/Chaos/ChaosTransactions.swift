import Concurrency
import JobQueue
import Measuring

/// Faults that are transactions: a producer that joins live jobs and idles, and a held snapshot.
struct ChaosTransactions: Sendable {
    private let chaos: ChaosInjector

    init(_ chaos: ChaosInjector) { self.chaos = chaos }

    /// Time limit for an operator's call.
    private static let limit = Duration.seconds(2)

    /// Joins up to 400 live jobs and idles. Meanwhile a pause and a cancel of a batch with these jobs must answer.
    func idle(_ fault: FaultPlan.Injection, _ duration: () async -> Void) async throws {
        let batch = chaos.load.batch("idle")
        let other = chaos.load.batch("operated")
        let urls = chaos.load.recentURLs(400)
        let list = "ARRAY[\(urls.map { "'\($0)'" }.joined(separator: ","))]"
        let (session, operator_) = (BenchSession(chaos.database.url), BenchSession(chaos.database.url))
        func enqueue(_ name: String) -> String {
            """
            SELECT count(*) FROM larder.enqueue_many(\(list), batch => '\(name)', pipeline => '\(ChaosLoad.pipeline)',
                traceparent => '\(ChaosLoad.traceparent)')
            """
        }
        try await operator_.execute(enqueue(other))
        chaos.load.sized(other, urls.count)
        try await session.execute("BEGIN")
        try await session.execute(enqueue(batch))
        for verb in ["pause", "resume", "cancel"] { try await operate(operator_, verb, other) }
        await duration()
        try await session.execute(fault.strength < 0.5 ? "ROLLBACK" : "COMMIT")
        if fault.strength >= 0.5 {
            chaos.load.sized(batch, urls.count)
            try await session.execute("SELECT larder.batch_seal('\(batch)')")
        }
        await session.close()
        await operator_.close()
    }

    private func operate(_ session: BenchSession, _ verb: String, _ batch: String) async throws {
        let start = ContinuousClock.now
        try await session.execute("SELECT larder.batch_\(verb)('\(batch)')")
        let time = ContinuousClock.now - start
        guard time > Self.limit, chaos.ledger.isDatabaseUndisturbed(since: start) else { return }
        chaos.ledger.violated(
            "\(verb) answered after \(time.seconds.short) s, while a producer idled", under: .idleProducer)
    }

    /// Holds a snapshot of the queue.
    func hold(_ duration: () async -> Void) async throws {
        let session = BenchSession(chaos.database.url)
        try await session.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        try await session.execute("SELECT count(*) FROM larder.progress")
        await duration()
        try await session.execute("COMMIT")
        await session.close()
    }
}
