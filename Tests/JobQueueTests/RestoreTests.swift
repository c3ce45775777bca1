import EmbeddedPostgres
import TestSupport
import Testing

@testable import JobQueue

/// A queue that goes on in another cluster, whose transactions have other numbers.
@Suite(.timeLimit(.minutes(10)))
struct RestoreTests {
    /// A server of its own and a session on it.
    private final class Site: Sendable {
        let home: ClusterHome
        let cluster: EmbeddedCluster
        let url: String
        let queue: Connection

        init(settings: [String] = []) async throws {
            home = try ClusterHome()
            cluster = EmbeddedCluster(home.configuration("home", disposable: true))
            let first = try await cluster.start()
            if !settings.isEmpty {
                for setting in settings { try AdminSession(first).execute("ALTER SYSTEM SET \(setting)") }
                try await cluster.stop()
                _ = try await cluster.start()
            }
            url = first
            queue = Connection(PostgresJobQueue.Configuration(databaseURL: first), name: "test")
            // An operator restores them first, with pg_dumpall --roles-only.
            for role in ["producer", "worker", "reader", "admin", "schedule"] {
                try AdminSession(first).execute("CREATE ROLE larder_\(role) NOLOGIN")
            }
        }

        func close() async throws {
            await queue.close()
            try await cluster.stop()
        }

        func value(_ statement: String) async throws -> String? { try await queue.rows(statement).first?.first ?? nil }

        /// Gives numbers of transactions out.
        func useTransactions(_ count: Int) throws {
            try AdminSession(url).execute(
                "DO $$ BEGIN FOR i IN 1..\(count) LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$")
        }

        func nextTransaction() async throws -> Int {
            try #require(try await value("SELECT pg_snapshot_xmax(pg_current_snapshot())").flatMap { Int($0) })
        }

        /// Runs a program of the server, such as `pg_dump`.
        func run(_ program: String, _ arguments: [String]) async throws {
            let outcome = try await RunningCommand(
                cluster.programs() + "/" + program, arguments, environment: [:], input: []
            ).outcome()
            #expect(outcome.code == 0, "\(program): \(outcome.errorText)")
        }

        func enqueue(_ urls: ClosedRange<Int>) async throws {
            let list = urls.map { "'http://h/\($0)'" }.joined(separator: ", ")
            _ = try await queue.rows("SELECT FROM larder.enqueue_many(ARRAY[\(list)], batch => 'b')")
        }

        /// Claims and completes as many jobs as there are; maintenance runs before and after it.
        func work() async throws -> Int {
            _ = try await queue.rows("SELECT FROM larder.maintain(true)")
            let worker = try await value("SELECT worker_id FROM larder.worker_start_v1('w', 'h', 1, 'v', 8)") ?? ""
            let jobs = try await queue.rows("SELECT job_id FROM larder.claim_v1(\(worker), 1, 1000)").compactMap {
                $0[0]
            }
            let results = jobs.map { #"{"job": \#($0), "claim": 1, "result": "succeeded"}"# }
            _ = try await queue.rows(
                "SELECT larder.complete_v1(\(worker), '[\(results.joined(separator: ", "))]')")
            _ = try await queue.rows("SELECT FROM larder.maintain(true)")
            return jobs.count
        }

        var progress: [String?] {
            get async throws {
                try await queue.rows("SELECT state, total, open, succeeded FROM larder.progress WHERE batch = 'b'")
                    .first ?? []
            }
        }

        func expectSound() async throws {
            #expect(try await queue.rows("SELECT * FROM larder.check()").isEmpty)
            #expect(try await queue.rows("SELECT * FROM larder.maintenance WHERE last_error IS NOT NULL").isEmpty)
        }
    }

    /// 20 URLs, of which 10 are completed and 10 wait.
    private func used(settings: [String] = []) async throws -> Site {
        let site = try await Site(settings: settings)
        try await Migrator(PostgresJobQueue.Configuration(databaseURL: site.url)).migrate()
        try site.useTransactions(20_000)
        try await site.enqueue(1...10)
        #expect(try await site.work() == 10)
        try await site.enqueue(11...20)
        return site
    }

    /// What a producer, a worker and others do there leaves every count right.
    private func goOn(_ site: Site) async throws {
        #expect(try await site.progress == ["open", "20", "10", "10"])
        try await site.enqueue(15...30)
        #expect(try await site.progress == ["open", "36", "26", "10"])
        // Other databases of the cluster use numbers, too.
        try site.useTransactions(30_000)
        #expect(try await site.progress == ["open", "36", "26", "10"])
        _ = try await site.queue.rows("SELECT larder.batch_seal('b')")
        #expect(try await site.work() == 20)
        _ = try await site.queue.rows("SELECT FROM larder.maintain(true)")
        #expect(try await site.progress == ["finished", "36", "0", "36"])
        try await site.expectSound()
    }

    @Test func `a dump restored where fewer transactions have run counts right`() async throws {
        let old = try await used()
        let new = try await Site()
        #expect(try await new.nextTransaction() < old.nextTransaction())
        let file = old.home.directory.file("dump")
        try await old.run("pg_dump", ["--dbname", old.url, "--file", file])
        try await new.run("psql", ["--no-psqlrc", "--set", "ON_ERROR_STOP=1", "--dbname", new.url, "--file", file])
        try await goOn(new)
        try await old.close()
        try await new.close()
    }

    /// What an operator does: the schema by `pg_dump --schema-only`; a publication of all tables through the roots of
    /// their partitions, because no statement that creates a partition is replicated; after the change the numbers of
    /// the sequences, which are not replicated either, with a distance, and `maintain`, which creates partitions.
    @Test func `a logical subscriber that takes over counts right`() async throws {
        let old = try await used(settings: ["wal_level = logical"])
        let new = try await Site()
        let file = old.home.directory.file("schema")
        try await old.run("pg_dump", ["--schema-only", "--dbname", old.url, "--file", file])
        try await new.run("psql", ["--no-psqlrc", "--set", "ON_ERROR_STOP=1", "--dbname", new.url, "--file", file])
        _ = try await old.queue.rows(
            "CREATE PUBLICATION larder FOR ALL TABLES WITH (publish_via_partition_root = true)")
        _ = try await new.queue.rows("CREATE SUBSCRIPTION larder CONNECTION '\(old.url)' PUBLICATION larder")
        let copying = "SELECT count(*) FROM pg_subscription_rel WHERE srsubstate <> 'r'"
        #expect(try await reached { try await new.value(copying) == "0" })
        // Changes and deletes of each kind of table are replicated, not only the first copy.
        _ = try await old.queue.rows("SELECT FROM larder.maintain(true)")
        _ = try await old.queue.rows("SELECT FROM larder.enqueue('http://h/19', batch => 'last')")
        let last = "SELECT total FROM larder.progress WHERE batch = 'last'"
        #expect(try await reached { try await new.value(last) == "1" })

        let sequences = try await old.queue.rows(
            """
            SELECT format('SELECT setval(%L, %s)', format('%I.%I', schemaname, sequencename),
                coalesce(last_value, start_value) + 1000)
            FROM pg_sequences
            """)
        try await old.close()
        for setting in ["DISABLE", "SET (slot_name = NONE)"] {
            _ = try await new.queue.rows("ALTER SUBSCRIPTION larder \(setting)")
        }
        _ = try await new.queue.rows("DROP SUBSCRIPTION larder")
        for sequence in sequences { _ = try await new.queue.rows(sequence[0] ?? "") }
        try await goOn(new)
        #expect(try await new.value(last) == "1")
        try await new.close()
    }
}
