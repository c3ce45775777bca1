import Foundation
import Testing

@testable import JobQueue

/// Random lives beside a model that foresees every answer.
///
/// 20,000 steps by default; `LARDER_SOAK_STEPS` asks for more (`make soak STEPS=1000000`), `LARDER_SOAK_SEED` for other
/// ones than the last time. A failure names seed and step; the same seed does the same again.
struct RandomTests {
    private static let stepsOfALife = 2_500

    /// The seeds of all lives. Through a pooler a few do: it is the same SQL.
    static let seeds: [UInt64] = {
        let environment = ProcessInfo.processInfo.environment
        let first = environment["LARDER_SOAK_SEED"].flatMap { UInt64($0) } ?? 1
        let fewest = environment["LARDER_TEST_POOLER"] == nil ? 20_000 : 5_000
        let steps = environment["LARDER_SOAK_STEPS"].flatMap { Int($0) } ?? fewest
        return (0..<UInt64(max(1, (steps + stepsOfALife - 1) / stepsOfALife))).map { first + $0 }
    }()

    @Test(.timeLimit(.minutes(10)), arguments: seeds)
    func `thousands of random steps do exactly what a plain model of the queue foresees`(seed: UInt64) async throws {
        var life = try await RandomLife(seed: seed)
        do { try await life.live(steps: Self.stepsOfALife) } catch {
            Issue.record("seed \(seed), step \(life.step), \(life.last): \(error)")
        }
    }
}
