import Foundation
import TestSupport
import Testing

@testable import JobQueue

/// Nothing that a caller sends can stop the queue for others.
///
/// 1,000 calls by default, 3,000 at night; `LARDER_FUZZ_CALLS` asks for more (100,000 before a release),
/// `LARDER_FUZZ_SEED` for others.
struct BorderFuzzTests {
    private static func setting(_ name: String, _ usual: Int) -> Int {
        ProcessInfo.processInfo.environment[name].flatMap { Int($0) } ?? usual
    }

    /// Gives the fuzz what is live now, and the queue more of it.
    private func refresh(_ fuzz: inout BorderFuzz, _ fixture: QueueFixture, _ round: Int) async throws {
        let worker = try await fixture.workerBySQL()
        try await fixture.sql(
            """
            SELECT FROM larder.enqueue_many(ARRAY(
                SELECT 'http://h' || i % 8 || '.x/' || (\(round) * 7 + i) % 300 FROM generate_series(1, 20) AS i),
                batch => 'fuzz \(round)')
            """)
        for claim in 1...2 { _ = try await fixture.claimBySQL(worker, claim * 1_000 + round) }
        fuzz.running = try await fixture.sql(
            "SELECT job_id, worker_id, claim_no FROM larder_data.running ORDER BY random() LIMIT 200")
        let live = { (table: String, column: String) async throws -> [String] in
            try await fixture.sql("SELECT \(column) FROM larder_data.\(table) ORDER BY 1 DESC LIMIT 60").compactMap {
                $0[0]
            }
        }
        fuzz.jobs = try await live("job", "id") + live("job_history", "job_id") + ["1"]
        fuzz.workers = try await live("claim_lock", "worker_id")
        fuzz.batches = try await live("batch", "id")
    }

    @Test(.timeLimit(.minutes(60)), .enabled(if: !TemporaryDatabase.isPooled, "roles are set for a session"))
    func `no call of any role with any values fails a task, a view or an invariant`() async throws {
        let fixture = try await QueueFixture.make()
        let seed = UInt64(Self.setting("LARDER_FUZZ_SEED", 1))
        var fuzz = BorderFuzz(seed: seed, catalog: try await fixture.sql(BorderFuzz.catalog))
        try #require(fuzz.routines.count > 80)
        try await fixture.sql("SELECT larder.queue_set('second')")
        try await fixture.sql("SELECT larder.pipeline_set('card', '{\"variants\": []}')")
        var accepted: Set<String> = []
        for number in 0..<Self.setting("LARDER_FUZZ_CALLS", Tier.isNightly ? 3_000 : 1_000) {
            if number % 100 == 0 { try await refresh(&fuzz, fixture, number / 100) }
            let (role, routine, statement) = fuzz.next()
            try await fixture.sql("SET ROLE \(role)")
            let code = try await fixture.refusal(of: statement)
            try await fixture.sql("RESET ROLE")
            if code == nil { accepted.insert(routine) }
            let isAnswer =
                code.map { $0.hasPrefix("22") || $0.hasPrefix("LA") || ["42501", "0A000"].contains($0) } ?? true
            #expect(isAnswer, "seed \(seed), call \(number) as \(role): \(code ?? ""), \(statement.prefix(1_000))")
            if number % 500 == 499 {
                let failing = try await fixture.sql(
                    "SELECT task, error FROM larder.maintain(true) WHERE error IS NOT NULL")
                try #require(failing.isEmpty, "seed \(seed), call \(number): \(failing)")
            }
        }
        // The values are not all so bad that no call enters. Which rows are live depends on the times of the run, so
        // that the number of routines that accepted a call varies; 60 were seen on a loaded machine.
        #expect(accepted.count > 40, "\(accepted.sorted())")
        for role in BorderFuzz.roles {
            let views = try await fixture.sql(
                """
                SELECT c.relname FROM pg_class c
                WHERE c.relnamespace = 'larder'::regnamespace AND c.relkind = 'v'
                  AND has_table_privilege('\(role)', c.oid, 'SELECT')
                """)
            try await fixture.sql("SET ROLE \(role)")
            for view in views {
                let code = try await fixture.refusal(of: "SELECT count(v::text) FROM larder.\(view[0] ?? "") AS v")
                #expect(code == nil, "seed \(seed), \(role), \(view)")
            }
            try await fixture.sql("RESET ROLE")
        }
        try await fixture.expectServing()
    }
}
