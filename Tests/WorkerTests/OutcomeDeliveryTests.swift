import Concurrency
import ImageModel
import Testing

@testable import JobQueue
@testable import Worker

/// Outcomes that the database refuses, without a database.
@Suite struct OutcomeDeliveryTests {
    private static let refusal = QueueError(.refused, "value out of range", sqlState: "22003")

    /// A database that refuses calls with the outcomes of some jobs.
    private final class Database: Sendable {
        let calls = Locked<[[Int64]]>([])
        let refused = Locked<[Int64]>([])
        let error: QueueError
        let isRefused: @Sendable (Outcome) -> Bool

        init(_ error: QueueError = refusal, _ isRefused: @escaping @Sendable (Outcome) -> Bool) {
            self.error = error
            self.isRefused = isRefused
        }

        func send(_ jobs: ClosedRange<Int64>) async throws(QueueError) -> [String] {
            let delivery = OutcomeDelivery { outcomes throws(QueueError) in
                self.calls.withLock { $0.append(outcomes.map(\.claim.job)) }
                if outcomes.contains(where: self.isRefused) { throw self.error }
                return outcomes.map { outcome in
                    guard case .failed(let reason, _) = outcome.result else {
                        return (outcome.claim, .succeeded)
                    }
                    return (outcome.claim, .failed(reason))
                }
            } refused: { claim, _ in
                self.refused.withLock { $0.append(claim.job) }
            }
            let outcomes = jobs.map { job in
                var outcome = Outcome(Claim(job: job, number: 1), .succeeded)
                outcome.bytesIn = Int(job)
                return outcome
            }
            return try await delivery.send(outcomes).map { answer in
                switch answer {
                case .refused: "refused"
                case .decided(.failed(let reason)): "\(reason.domain) \(reason.code)"
                case .decided(let decision): "\(decision)"
                }
            }
        }
    }

    @Test func `outcomes are completed together`() async throws {
        let database = Database { _ in false }
        #expect(try await database.send(1...3) == ["succeeded", "succeeded", "succeeded"])
        #expect(database.calls.withLock { $0 } == [[1, 2, 3]])
    }

    @Test func `of outcomes with one that is refused, only that one fails, by an outcome without its values`()
        async throws
    {
        let database = Database { $0.bytesIn == 2 }
        #expect(try await database.send(1...3) == ["succeeded", "LarderErrorDomain 502", "succeeded"])
        #expect(database.calls.withLock { $0 } == [[1, 2, 3], [1], [2], [2], [3]])
        #expect(database.refused.withLock { $0 } == [2])
    }

    @Test func `an outcome that is refused without its values, too, is left, and the others are completed`()
        async throws
    {
        let database = Database { $0.claim.job == 1 }
        #expect(try await database.send(1...2) == ["refused", "succeeded"])
        #expect(try await database.send(1...1) == ["refused"])
    }

    @Test(arguments: ["40001", "57P01", "42501", "LA005"])
    func `any other error is thrown`(state: String) async {
        let database = Database(QueueError(.refused, "", sqlState: state)) { _ in true }
        let error = await #expect(throws: QueueError.self) { try await database.send(1...2) }
        #expect(error?.sqlState == state)
        #expect(database.calls.withLock { $0.count } == 1)
    }

    @Test(arguments: ["22003", "22P05", "23514", "54000"])
    func `values, constraints and limits are what a database refuses`(state: String) {
        #expect(QueueError(.refused, "", sqlState: state).refusesValue)
    }
}
