import Foundation
import TestSupport
import Testing

@testable import JobQueue

/// Random lives, compared with a model that predicts every answer.
///
/// 5,000 steps by default, 20,000 at night; `LARDER_SOAK_STEPS` asks for more (`make soak STEPS=1000000`),
/// `LARDER_SOAK_SEED` for other ones than the last time. A failure names seed and step; the same seed does the same
/// again.
struct RandomTests {
    private static let stepsOfALife = 2_500

    /// The seeds of all lives.
    static let seeds: [UInt64] = {
        let environment = ProcessInfo.processInfo.environment
        let first = environment["LARDER_SOAK_SEED"].flatMap { UInt64($0) } ?? 1
        let fewest = Tier.isNightly ? 20_000 : 5_000
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
